#include "api/wire_reconstruction.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct recon_request parse(const char *text, struct wire_faults *faults) {
    struct recon_request request;
    json_t *body = json_loads(text, 0, NULL);
    assert_non_null(body);
    wire_reconstruction_request(faults, body, "preview", &request);
    json_decref(body);
    return request;
}

static void test_defaults(void **state) {
    (void)state;
    struct wire_faults faults = {0};
    struct recon_request request = parse("{\"recording\":\"fox\"}", &faults);
    assert_int_equal(faults.n_faults, 0);
    assert_string_equal(request.scene, "fox");
    assert_string_equal(request.config.preset, "preview");
    assert_int_equal(request.priority, 1);
    assert_true(request.load_when_done);
    assert_false(request.replace);
    recon_request_free(&request);
}

/* What the journal keeps must give the same request again, whatever the defaults are by then. */
static void test_stored_request_is_the_same(void **state) {
    (void)state;
    struct wire_faults faults = {0};
    struct rt_error err;
    struct recon_request first = parse(
        "{\"recording\":\"fox\",\"scene\":\"den\",\"preset\":\"quality\",\"priority\":\"high\","
        "\"replace\":true,\"load_when_done\":false,\"labels\":{\"a\":\"b\"},"
        "\"config\":{\"steps\":77,\"near_m\":0.3,\"init\":\"random\",\"time_budget_s\":12.5}}",
        &faults);
    assert_int_equal(faults.n_faults, 0);
    first.live_as_job = true;
    first.findings = json_pack("[{s:s}]", "message", "24 pictures are missing");
    char *text = wire_reconstruction_text(&first);
    struct recon_request again;
    assert_int_equal(wire_reconstruction_stored(text, &again, &err), RT_OK);
    assert_string_equal(again.scene, "den");
    assert_memory_equal(&again.config, &first.config, sizeof first.config);
    assert_int_equal(again.priority, 2);
    assert_true(again.replace && again.live_as_job && !again.load_when_done);
    assert_true(json_equal(again.labels, first.labels));
    assert_true(json_equal(again.findings, first.findings));
    free(text);
    recon_request_free(&first);
    recon_request_free(&again);
    assert_int_equal(wire_reconstruction_stored("{", &again, &err), RT_INTERNAL);
    assert_int_equal(wire_reconstruction_stored("{}", &again, &err), RT_INTERNAL);
}

static void test_status_file(void **state) {
    (void)state;
    char path[] = "/tmp/retake-status-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    struct recon_status status = recon_status_none(), read;
    assert_int_equal(recon_status_read(path, &read), RT_NOT_FOUND); /* empty */
    assert_int_equal(read.preview_step, -1);
    status.progress.phase = RECON_TRAINING;
    status.progress.step = 120;
    status.progress.n_steps = 3000;
    status.progress.fraction = 0.04;
    status.progress.loss = 0.125;
    status.progress.n_gaussians = 4711;
    status.progress.checkpoint_step = 100;
    status.checkpoint_ms = 1764543210987;
    status.preview_step = 90;
    assert_int_equal(recon_status_write(path, &status, NULL), RT_OK);
    assert_int_equal(recon_status_read(path, &read), RT_OK);
    assert_int_equal(read.progress.phase, RECON_TRAINING);
    assert_int_equal(read.progress.step, 120);
    assert_int_equal(read.progress.n_gaussians, 4711);
    assert_int_equal(read.progress.checkpoint_step, 100);
    assert_true(read.progress.loss == 0.125 && isnan(read.progress.psnr_db));
    assert_true(read.checkpoint_ms == 1764543210987 && read.preview_step == 90);
    unlink(path);
}

static void test_row_has_null_for_what_is_not_known(void **state) {
    (void)state;
    char subject[] = "fox", object[] = "den";
    char request[] = "{\"preset\":\"preview\",\"config\":{\"steps\":50},\"priority\":\"normal\"}";
    struct job_row job = {.id = "r_aaaaaaaa",
                          .state = JOB_QUEUED,
                          .attempt = 1,
                          .subject = subject,
                          .object = object,
                          .request = request,
                          .queue_position = 3};
    struct recon_status status = recon_status_none();
    json_t *row = wire_reconstruction_row(&job, &status, "cpu");
    static const char *const nulls[] = {"phase",      "requested",  "reason",     "result",
                                        "checkpoint", "started_at", "finished_at"};
    for (size_t i = 0; i < sizeof nulls / sizeof nulls[0]; i++) {
        assert_true(json_is_null(json_object_get(row, nulls[i])));
    }
    json_t *progress = json_object_get(row, "progress");
    assert_int_equal(json_integer_value(json_object_get(progress, "steps")), 50);
    assert_true(json_is_null(json_object_get(progress, "loss")));
    assert_true(json_is_null(json_object_get(progress, "eta_s")));
    assert_int_equal(json_integer_value(json_object_get(row, "queue_position")), 3);
    json_decref(row);
}

static void test_estimate_grows_with_the_work(void **state) {
    (void)state;
    struct recon_config small, large;
    assert_int_equal(config_preset("preview", &small, NULL), RT_OK);
    assert_int_equal(config_preset("quality", &large, NULL), RT_OK);
    struct recon_work work = {.largest_px = 2000000, .total_px = 80000000, .n_threads = 2};
    struct recon_estimate a = wire_reconstruction_estimate(&small, &work);
    struct recon_estimate b = wire_reconstruction_estimate(&large, &work);
    assert_true(b.seconds > 5.0 * a.seconds && b.device_bytes > a.device_bytes);
    assert_true(a.seconds > 0.0 && a.disk_bytes > 0);
    work.n_threads = 4;
    assert_true(wire_reconstruction_estimate(&small, &work).seconds < a.seconds);
    small.time_budget_s = 1.0;
    assert_true(wire_reconstruction_estimate(&small, &work).seconds < a.seconds / 4.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_stored_request_is_the_same),
        cmocka_unit_test(test_status_file),
        cmocka_unit_test(test_row_has_null_for_what_is_not_known),
        cmocka_unit_test(test_estimate_grows_with_the_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
