/* A scene: layers of gaussians, the sensors that recorded it, its frames, sky and provenance.
 *
 *     struct scene *scene;
 *     RT_TRY(scene_create(&scene, err));     // one reference, empty, the caller fills it
 *     scene_retain(scene);                   // from now on it is an immutable shared snapshot
 *     scene_release(&scene);                 // the last one frees everything it owns
 *
 * Fields mirror scene.json of formats.md section 4. Threading: fill on one thread, then share; the
 * reference count is atomic, everything else is immutable once shared. */
#ifndef RETAKE_RENDER_CORE_SCENE_H
#define RETAKE_RENDER_CORE_SCENE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "render/core/gaussians.h"
#include "render/core/limits.h"
#include "render/core/sensor.h"

enum node_kind { NODE_BACKGROUND, NODE_ACTOR };

struct scene_node {
    char id[RT_ID_BYTES];
    enum node_kind kind;
    char *track_id;              /* owned; NULL for the background */
    struct gaussians *gaussians; /* owned */
    bool antialiased;
    struct pose T_world_node; /* static nodes; carries T_world_file of formats.md section 2 */
};

/* Recorded (or virtual) frames of one camera, columns of frames.json. */
struct scene_frames {
    int32_t n_frames;
    int64_t *t_us;                     /* owned [n_frames], strictly increasing */
    int64_t *t_end_us;                 /* owned [n_frames] */
    struct pose *T_world_sensor_start; /* owned [n_frames] */
    struct pose *T_world_sensor_end;   /* owned [n_frames] */
    uint8_t *holdout;                  /* owned [n_frames], 1 = not used for training */
    char **file;                       /* owned [n_frames]; path of the original, or NULL */
    struct camera *camera;             /* owned [n_frames]: lens per frame, or NULL = one lens */
};

struct scene_camera {
    char id[RT_ID_BYTES];
    struct camera camera;
    struct pose T_rig_camera;
    int64_t shutter_us;
    int64_t time_offset_us;
    struct scene_frames frames;
};

enum sky_kind { SKY_NONE, SKY_COLOUR };

struct scene {
    atomic_int n_references;
    char *name; /* owned UTF-8, never NULL after scene_create */
    float up[3];
    bool metric;
    bool is_static;
    int64_t t_begin_us; /* [t_begin_us, t_end_us) */
    int64_t t_end_us;
    struct scene_node *nodes; /* owned [n_nodes]; exactly one background, first */
    int32_t n_nodes;
    struct scene_camera *cameras; /* owned [n_cameras] */
    int32_t n_cameras;
    enum sky_kind sky;
    float sky_rgb[3];
    struct pose T_source_world;
    struct pose default_view; /* T_world_sensor of the virtual camera `default` */
    char axes[4];             /* of the file it came from: flu rdf rub luf */
    char *recording_id;       /* owned or NULL */
    char *generator;          /* owned or NULL */
    char *provenance_json;    /* owned or NULL: object text {"config":…,"eval":…} */
    char *carried_json; /* owned or NULL: object text of members of scene.json that are kept as
                           they are on re-write (lidars, trajectories, tracks, unknown ones) */
    char **warnings;    /* owned [n_warnings] sentences from reading */
    int32_t n_warnings;
};

enum rt_status scene_create(struct scene **out, struct rt_error *err);
struct scene *scene_retain(struct scene *scene); /* returns its argument */
void scene_release(struct scene **scene);        /* accepts *scene == NULL; sets it to NULL */

/* Adds a node that takes over `gaussians` on success. */
enum rt_status scene_add_node(struct scene *scene, const char *id, enum node_kind kind,
                              struct gaussians *gaussians, struct rt_error *err);
/* Adds a camera with n_frames zeroed frames; the pointer stays valid until the next add. */
enum rt_status scene_add_camera(struct scene *scene, const char *id, int32_t n_frames,
                                struct scene_camera **out, struct rt_error *err);
enum rt_status scene_add_warning(struct scene *scene, struct rt_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Replaces an owned string member (NULL clears it). */
enum rt_status scene_set_text(char **member, const char *text, struct rt_error *err);

/* Camera by id or NULL. */
const struct scene_camera *scene_find_camera(const struct scene *scene, const char *id);
int64_t scene_n_gaussians(const struct scene *scene);
int32_t scene_sh_degree(const struct scene *scene); /* largest of the nodes */
size_t scene_bytes(const struct scene *scene);      /* of all gaussians */

/* Axis-aligned bounds of the splat centres in the world, 1 % and 99 % quantiles per axis (floaters
 * would swallow the picture otherwise). False when there are no splats. */
bool scene_bounds(const struct scene *scene, float minimum[3], float maximum[3]);

/* A view of the whole scene for scenes without recorded cameras: from behind (-x), slightly above,
 * looking forward at the middle of the bounds, the height filling 50 degrees. */
struct pose scene_overview(const struct scene *scene);

/* id matches [A-Za-z0-9][A-Za-z0-9_-]{0,63}; sensors also allow ':'. */
bool id_is_valid(const char *id, bool is_sensor);

#endif
