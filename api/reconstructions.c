#include "api/reconstructions.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/folder.h"
#include "api/recon_runner.h"
#include "api/routes.h"
#include "api/wire_json.h"
#include "api/wire_reconstruction.h"
#include "render/io/image_file.h"

enum { PAGE = 100, MAX_PAGE = 1000, MAX_KNOWN = 20 };

static void reply_not_found(struct api *api, struct http_exchange *x, const char *id) {
    struct jobs_filter filter = {.limit = MAX_KNOWN};
    struct job_row *rows = NULL;
    int32_t n_rows = 0;
    json_t *known = json_array();
    jobs_list(api->jobs, &filter, &rows, &n_rows, NULL);
    for (int32_t i = 0; i < n_rows; i++) {
        json_array_append_new(known, json_string(rows[i].id));
        job_row_free(&rows[i]);
    }
    free(rows);
    problem_reply(api, x, PROBLEM_NOT_FOUND,
                  json_pack("{s:s, s:o}", "resource", "reconstruction", "known", known),
                  "there is no reconstruction \"%.64s\"", id);
}

bool reconstruction_find(struct api *api, struct http_exchange *x, struct job_row *out) {
    struct rt_error err = {0};
    const char *id = http_param(x, "id");
    enum rt_status status = jobs_get(api->jobs, id, out, &err);
    if (status == RT_OK) return true;
    if (status == RT_NOT_FOUND) {
        reply_not_found(api, x, id);
    } else {
        problem_reply_error(api, x, &err, NULL);
    }
    return false;
}

/* -- list and row ------------------------------------------------------------------------------ */

void get_reconstructions(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct wire_faults faults = {0};
    struct rt_error err = {0};
    static const char *const known[] = {"state", "recording", "scene", "limit", "cursor", NULL};
    static const char *const states[] = {"queued", "running",   "paused", "succeeded",
                                         "failed", "cancelled", NULL};
    int64_t limit = PAGE;
    int32_t i_state = -1;
    wire_query_members(&faults, x, known);
    wire_query_int(&faults, x, "limit", 1, MAX_PAGE, &limit);
    wire_query_choice(&faults, x, "state", states, &i_state);
    struct jobs_filter filter = {.state = i_state >= 0 ? states[i_state] : NULL,
                                 .subject = http_query(x, "recording"),
                                 .object = http_query(x, "scene"),
                                 .after = http_query(x, "cursor"),
                                 .limit = (int32_t)limit + 1};
    struct job_row *rows = NULL;
    int32_t n_rows = 0;
    if (faults.n_faults) {
        wire_reply_faults(api, x, &faults);
        return;
    }
    if (jobs_list(api->jobs, &filter, &rows, &n_rows, &err) != RT_OK) {
        problem_reply_error(api, x, &err, NULL);
        return;
    }
    json_t *items = json_array(), *next = json_null();
    for (int32_t i = 0; i < n_rows; i++) {
        if (i < (int32_t)limit) {
            json_array_append_new(items, recon_runner_row(api->runner, &rows[i]));
        } else {
            next = json_string(rows[i - 1].id);
        }
    }
    for (int32_t i = 0; i < n_rows; i++) job_row_free(&rows[i]);
    free(rows);
    reply_json(api, x, 200, json_pack("{s:o, s:o}", "items", items, "next", next));
}

void get_reconstruction(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct job_row job = {0};
    if (!reconstruction_find(api, x, &job)) return;
    reply_json(api, x, 200, recon_runner_row(api->runner, &job));
    job_row_free(&job);
}

/* Takes the live model of a job that will not go on away. */
static void end_live(struct api *api, const struct job_row *job) {
    const char *candidates[] = {job->id, job->object};
    for (int i = 0; i < 2; i++) {
        struct scene_row row = {0};
        if (!candidates[i] || scene_cache_row(api->scenes, candidates[i], &row, NULL) != RT_OK) {
            continue;
        }
        bool is_ours = row.live && strcmp(row.origin_id, job->id) == 0;
        scene_row_free(&row);
        if (is_ours) scene_cache_end_live(api->scenes, candidates[i]);
    }
}

void delete_reconstruction(struct http_exchange *x, void *context) {
    struct api *api = context;
    struct job_row job = {0};
    struct rt_error err = {0};
    char folder[FOLDER_PATH_BYTES];
    if (!reconstruction_find(api, x, &job)) return;
    enum rt_status status = recon_runner_path(api->runner, job.id, "", folder, &err);
    if (status == RT_OK) status = jobs_delete(api->jobs, job.id, &err);
    if (status == RT_BUSY) {
        problem_reply(api, x, PROBLEM_JOB_RUNNING, json_pack("{s:[s]}", "users", job.id),
                      "the job is %s: cancel it first", job_state_name(job.state));
    } else if (status != RT_OK) {
        problem_reply_error(api, x, &err, NULL);
    } else {
        end_live(api, &job);
        folder_remove(folder);
        reply_empty(api, x, 204);
    }
    job_row_free(&job);
}

/* -- controls ---------------------------------------------------------------------------------- */

enum control { CONTROL_CANCEL, CONTROL_PUBLISH, CONTROL_PAUSE, CONTROL_RESUME };

/* The table of api.md section 6.3 seen from the controls: what happens in each state. */
enum effect { NOTHING, IMPOSSIBLE, REQUEST, MOVE };
struct reaction {
    enum effect effect;
    enum job_state to;
};

static struct reaction react(enum control control, const struct job_row *job,
                             const struct recon_status *status) {
    bool has_checkpoint = status->progress.checkpoint_step > 0;
    struct reaction nothing = {NOTHING, job->state}, impossible = {IMPOSSIBLE, job->state};
    struct reaction request = {REQUEST, job->state};
    bool is_ending =
        strcmp(job->requested, "cancel") == 0 || strcmp(job->requested, "publish") == 0;
    switch (control) {
        case CONTROL_PAUSE:
            if (job->state == JOB_QUEUED) return (struct reaction){MOVE, JOB_PAUSED};
            if (job->state == JOB_PAUSED) return nothing;
            return job->state == JOB_RUNNING && !is_ending ? request : impossible;
        case CONTROL_RESUME:
            if (job->state == JOB_QUEUED) return nothing;
            if (job->state == JOB_RUNNING) return is_ending ? impossible : request;
            if (job->state == JOB_PAUSED) return (struct reaction){MOVE, JOB_QUEUED};
            if (job->state == JOB_SUCCEEDED || !has_checkpoint) return impossible;
            return (struct reaction){MOVE, JOB_QUEUED};
        case CONTROL_PUBLISH:
            if (job->state == JOB_RUNNING) return request;
            if ((job->state == JOB_QUEUED || job->state == JOB_PAUSED) && has_checkpoint) {
                return (struct reaction){MOVE, JOB_QUEUED};
            }
            if (job->state == JOB_SUCCEEDED && strcmp(job->reason, "stopped-early") == 0) {
                return nothing;
            }
            break;
        case CONTROL_CANCEL:
            break;
    }
    if (job->state == JOB_QUEUED || job->state == JOB_PAUSED) {
        return (struct reaction){MOVE, JOB_CANCELLED};
    }
    if (job->state == JOB_RUNNING) return request;
    return job->state == JOB_CANCELLED ? nothing : impossible;
}

static const char *const control_names[] = {"cancel", "publish", "pause", "resume"};

static json_t *allowed_controls(const struct job_row *job, const struct recon_status *status) {
    static const enum control shown[] = {CONTROL_CANCEL, CONTROL_PAUSE, CONTROL_RESUME};
    json_t *allowed = json_array();
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        enum effect effect = react(shown[i], job, status).effect;
        if (effect == MOVE || effect == REQUEST) {
            json_array_append_new(allowed, json_string(control_names[shown[i]]));
        }
    }
    return allowed;
}

/* A waiting job learns from a file in its folder that it shall publish instead of going on. */
static enum rt_status mark_early_stop(struct api *api, const struct job_row *job, bool is_wanted,
                                      struct rt_error *err) {
    char path[FOLDER_PATH_BYTES];
    RT_TRY(recon_runner_path(api->runner, job->id, RECON_STOP_EARLY, path, err));
    if (is_wanted) return file_write_atomic(path, "", 0, err);
    unlink(path);
    return RT_OK;
}

static enum rt_status apply(struct api *api, enum control control, const struct job_row *job,
                            struct reaction reaction, struct rt_error *err) {
    const char *requested = control == CONTROL_RESUME ? "" : control_names[control];
    if (reaction.effect == REQUEST) return jobs_request(api->jobs, job->id, requested, err);
    if (reaction.effect != MOVE) return RT_OK;
    RT_TRY(mark_early_stop(api, job, control == CONTROL_PUBLISH && reaction.to == JOB_QUEUED, err));
    if (reaction.to != job->state) {
        struct job_change change = {.to = reaction.to};
        RT_TRY(jobs_transition(api->jobs, job->id, &change, err));
    }
    if (reaction.to == JOB_CANCELLED) end_live(api, job);
    return RT_OK;
}

static void reply_impossible(struct api *api, struct http_exchange *x, enum control control,
                             const struct job_row *job, const struct recon_status *status) {
    const char *state = job_state_name(job->state);
    problem_reply(
        api, x, PROBLEM_INVALID_TRANSITION,
        json_pack("{s:s, s:o}", "state", state, "allowed", allowed_controls(job, status)),
        "%s is not possible: the job %s %s%s", control_names[control],
        job->state == JOB_SUCCEEDED || job->state == JOB_FAILED ? "has" : "is", state,
        control == CONTROL_RESUME && job->state != JOB_SUCCEEDED ? " without a checkpoint" : "");
}

/* Applies a control. The runner may change the state in between: then it is looked at again. */
static void reply_control(struct api *api, struct http_exchange *x, enum control control) {
    for (int attempt = 0; attempt < 3; attempt++) {
        struct job_row job = {0};
        struct rt_error err = {0};
        if (!reconstruction_find(api, x, &job)) return;
        struct recon_status status = recon_runner_status(api->runner, job.id);
        struct reaction reaction = react(control, &job, &status);
        if (reaction.effect == IMPOSSIBLE) {
            reply_impossible(api, x, control, &job, &status);
            job_row_free(&job);
            return;
        }
        enum rt_status result = apply(api, control, &job, reaction, &err);
        job_row_free(&job);
        if (result == RT_TRANSITION) continue;
        if (result != RT_OK || !reconstruction_find(api, x, &job)) {
            if (result != RT_OK) problem_reply_error(api, x, &err, NULL);
            return;
        }
        if (reaction.effect != NOTHING) {
            recon_runner_announce(api->runner, job.id);
            recon_runner_wake(api->runner);
        }
        reply_json(api, x, 200, recon_runner_row(api->runner, &job));
        job_row_free(&job);
        return;
    }
    problem_reply(api, x, PROBLEM_INVALID_TRANSITION, NULL,
                  "the job changes its state right now; try again");
}

/* The body of a control: nothing, {} or, for cancel, {"publish":bool}. False when answered. */
static bool parse_control(struct api *api, struct http_exchange *x, const char *const *known,
                          bool *publish) {
    struct wire_faults faults = {0};
    size_t n_bytes = 0;
    const void *text = http_body(x, &n_bytes);
    json_t *body = n_bytes ? wire_parse(text, n_bytes, false, &faults) : NULL;
    if (body && wire_members(&faults, body, "", known)) {
        wire_bool(&faults, body, "", "publish", publish);
    }
    json_decref(body);
    if (faults.n_faults) wire_reply_faults(api, x, &faults);
    return faults.n_faults == 0;
}

void post_reconstruction_cancel(struct http_exchange *x, void *context) {
    static const char *const known[] = {"publish", NULL};
    bool publish = false;
    if (!parse_control(context, x, known, &publish)) return;
    reply_control(context, x, publish ? CONTROL_PUBLISH : CONTROL_CANCEL);
}

static void reply_plain_control(struct api *api, struct http_exchange *x, enum control control) {
    static const char *const known[] = {NULL};
    bool unused = false;
    if (parse_control(api, x, known, &unused)) reply_control(api, x, control);
}

void post_reconstruction_pause(struct http_exchange *x, void *context) {
    reply_plain_control(context, x, CONTROL_PAUSE);
}

void post_reconstruction_resume(struct http_exchange *x, void *context) {
    reply_plain_control(context, x, CONTROL_RESUME);
}
