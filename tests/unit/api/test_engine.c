/* The engine's queue, cancellation and background work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "api/engine.h"
#include "api/engine_draw.h"
#include "api/reply.h"

/* What done() saw, and a gate that holds the background unit. */
struct seen {
    atomic_int n_ok, n_cancelled, n_draining, n_deadline, n_units, units_left;
    atomic_bool hold, is_holding;
};

static void nap(void) { nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL); }

static void on_done(void *context, struct engine_picture *picture, const struct rt_error *err) {
    struct seen *seen = context;
    if (err->status == RT_OK && picture != NULL) atomic_fetch_add(&seen->n_ok, 1);
    if (err->status == RT_CANCELLED) atomic_fetch_add(&seen->n_cancelled, 1);
    if (err->status == RT_DRAINING) atomic_fetch_add(&seen->n_draining, 1);
    if (err->status == RT_DEADLINE) atomic_fetch_add(&seen->n_deadline, 1);
    engine_picture_free(picture);
}

static bool gone(void *context) {
    (void)context;
    return true;
}

static bool advance(void *context, struct renderer *renderer) {
    struct seen *seen = context;
    assert_non_null(renderer);
    atomic_store(&seen->is_holding, true);
    while (atomic_load(&seen->hold)) nap();
    atomic_fetch_add(&seen->n_units, 1);
    return atomic_fetch_sub(&seen->units_left, 1) > 1;
}

static void wait_for(atomic_int *value, int wanted) {
    for (int i = 0; i < 5000 && atomic_load(value) < wanted; i++) nap();
    assert_int_equal(atomic_load(value), wanted);
}

static struct engine *start(struct scene **scene, int32_t queue_limit) {
    struct engine *engine = NULL;
    const struct engine_options options = {.backend = "cpu", .queue_limit = queue_limit};
    assert_int_equal(engine_create(&engine, &options, NULL), RT_OK);
    assert_int_equal(engine_heartbeat_scene(scene, NULL), RT_OK);
    return engine;
}

static struct engine_render make_render(struct scene *scene, struct seen *seen) {
    struct engine_render render = engine_heartbeat_render(scene);
    render.done = on_done;
    render.context = seen;
    return render;
}

static void test_renders_between_units(void **state) {
    (void)state;
    struct scene *scene;
    struct seen seen = {.units_left = 5};
    struct engine *engine = start(&scene, 0);
    atomic_store(&seen.hold, true);
    engine_set_background(engine, advance, &seen);
    while (!atomic_load(&seen.is_holding)) nap();
    struct engine_render render = make_render(scene, &seen);
    for (int i = 0; i < 3; i++) assert_int_equal(engine_submit(engine, &render, NULL), RT_OK);
    assert_int_equal(engine_stats(engine).queue_length, 3);
    atomic_store(&seen.hold, false);
    wait_for(&seen.n_ok, 3);
    wait_for(&seen.n_units, 5); /* all units, then it sleeps */
    nap();
    assert_int_equal(atomic_load(&seen.n_units), 5);
    atomic_store(&seen.units_left, 1);
    engine_wake(engine);
    wait_for(&seen.n_units, 6);
    engine_stop_background(engine);
    engine_wake(engine);
    engine_destroy(&engine);
    assert_int_equal(atomic_load(&scene->n_references), 1); /* nothing leaked */
    scene_release(&scene);
}

static void test_full_queue_and_drain(void **state) {
    (void)state;
    struct scene *scene;
    struct seen seen = {.units_left = 1, .hold = true};
    struct engine *engine = start(&scene, 2);
    engine_set_background(engine, advance, &seen);
    while (!atomic_load(&seen.is_holding)) nap();
    struct engine_render render = make_render(scene, &seen);
    assert_int_equal(engine_submit(engine, &render, NULL), RT_OK);
    assert_int_equal(engine_submit(engine, &render, NULL), RT_OK);
    assert_int_equal(engine_submit(engine, &render, NULL), RT_QUEUE_FULL);
    assert_true(engine_retry_after_s(engine) >= 1);
    engine_cancel_all(engine);
    assert_int_equal(atomic_load(&seen.n_draining), 2);
    assert_int_equal(engine_submit(engine, &render, NULL), RT_DRAINING);
    atomic_store(&seen.hold, false);
    engine_destroy(&engine);
    assert_int_equal(atomic_load(&seen.n_ok), 0);
    scene_release(&scene);
}

static void test_gone_clients_and_deadlines_are_not_drawn(void **state) {
    (void)state;
    struct scene *scene;
    struct seen seen = {.units_left = 1, .hold = true};
    struct engine *engine = start(&scene, 0);
    engine_set_background(engine, advance, &seen);
    while (!atomic_load(&seen.is_holding)) nap();
    struct engine_render render = make_render(scene, &seen);
    render.client_gone = gone;
    assert_int_equal(engine_submit(engine, &render, NULL), RT_OK);
    render.client_gone = NULL;
    render.deadline_ns = time_mono_ns() + 1000000;
    assert_int_equal(engine_submit(engine, &render, NULL), RT_OK);
    for (int i = 0; i < 5; i++) nap();
    atomic_store(&seen.hold, false);
    wait_for(&seen.n_cancelled, 1);
    wait_for(&seen.n_deadline, 1);
    assert_int_equal(atomic_load(&seen.n_ok), 0);
    engine_destroy(&engine);
    scene_release(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_renders_between_units),
        cmocka_unit_test(test_full_queue_and_drain),
        cmocka_unit_test(test_gone_clients_and_deadlines_are_not_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
