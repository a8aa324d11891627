/* The table of hyper-parameters: every row has a default inside its range, faults name the
 * parameter and the nearest name, JSON survives a round trip. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recon/config.h"

static void test_defaults_are_inside_their_ranges(void **state) {
    (void)state;
    int32_t n_rows = 0;
    const struct config_row *rows = config_rows(&n_rows);
    for (int p = 0; config_presets()[p]; p++) {
        struct recon_config config;
        struct rt_error err;
        assert_int_equal(config_preset(config_presets()[p], &config, &err), RT_OK);
        char *json = NULL;
        assert_int_equal(config_to_json(&config, &json, &err), RT_OK);
        json_t *object = json_loads(json, 0, NULL);
        for (int32_t i = 0; i < n_rows; i++) {
            const json_t *value = json_object_get(object, rows[i].name);
            assert_non_null(value);
            assert_true(strlen(rows[i].text) > 0);
            if (rows[i].type == CONFIG_CHOICE) continue;
            assert_true(json_number_value(value) >= rows[i].minimum);
            assert_true(json_number_value(value) <= rows[i].maximum);
        }
        json_decref(object);
        free(json);
    }
}

static void test_presets_differ(void **state) {
    (void)state;
    struct recon_config config;
    assert_int_equal(config_preset("balanced", &config, NULL), RT_OK);
    assert_int_equal(config.steps, 10000);
    assert_string_equal(config.strategy, "mcmc");
    assert_string_equal(config.init, "auto");
    assert_int_equal(config_preset("quality", &config, NULL), RT_OK);
    assert_int_equal(config.steps, 30000);
    struct rt_error err;
    assert_int_equal(config_preset("best", &config, &err), RT_INVALID);
    assert_non_null(strstr(err.message, "\"best\""));
    assert_non_null(strstr(err.message, "quality"));
}

static void refused(const char *name, const char *value, const char *part) {
    struct recon_config config;
    struct recon_config before;
    struct rt_error err;
    config_preset("balanced", &config, NULL);
    before = config;
    assert_int_equal(config_set(&config, name, value, &err), RT_INVALID);
    if (!strstr(err.message, part)) fail_msg("\"%s\" lacks \"%s\"", err.message, part);
    assert_memory_equal(&config, &before, sizeof config);
}

static void test_faults_are_named(void **state) {
    (void)state;
    refused("steps", "0", "steps = 0 is outside [1, 200000]");
    refused("steps", "12.5", "whole number");
    refused("steps", "many", "\"many\" is not a number");
    refused("steps", "12k", "not a number");
    refused("steps", "", "not a number");
    refused("lr_mean", "nan", "outside");
    refused("lr_mean", "inf", "outside");
    refused("step", "10", "\"steps\"");
    refused("splat_max", "10", "\"splats_max\"");
    refused("strategy", "adc", "mcmc none");
    refused("init", "aut", "auto sfm random");
    refused("checkpoint_every_s", "-1", "outside [1, 86400] s");
    refused("preset", "quality", "does not exist");
}

static void count_fault(void *context, const char *name, const char *message) {
    assert_true(strlen(name) > 0 && strlen(message) > 0);
    ++*(int *)context;
}

static void test_json_reports_every_fault(void **state) {
    (void)state;
    struct recon_config config;
    config_preset("balanced", &config, NULL);
    int n_faults = 0;
    struct rt_error err;
    const char *json = "{\"steps\":0,\"seed\":7,\"growht\":1.1,\"strategy\":5,\"near_m\":\"x\"}";
    assert_int_equal(config_from_json(&config, json, count_fault, &n_faults, &err), RT_INVALID);
    assert_int_equal(n_faults, 4);
    assert_non_null(strstr(err.message, "steps = 0"));
    assert_int_equal(config.seed, 7);
    assert_int_equal(config_from_json(&config, "[1]", NULL, NULL, &err), RT_INVALID);
    assert_int_equal(config_from_json(&config, "{", NULL, NULL, &err), RT_INVALID);
    assert_int_equal(config_from_json(&config, "{\"seed\":1,\"seed\":2}", NULL, NULL, &err),
                     RT_INVALID);
}

/* What one process writes, another must read to the same bits: resume compares configurations. */
static void test_json_round_trip(void **state) {
    (void)state;
    struct recon_config config, again;
    config_preset("quality", &config, NULL);
    config.lr_mean = 1.2345678e-4f;
    config.time_budget_s = 12.25;
    config_set(&config, "init", "random", NULL);
    char *json = NULL;
    assert_int_equal(config_to_json(&config, &json, NULL), RT_OK);
    json_t *object = json_loads(json, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(object, "preset")), "quality");
    json_object_del(object, "preset");
    char *without = json_dumps(object, JSON_REAL_PRECISION(17));
    config_preset("quality", &again, NULL);
    struct rt_error err;
    assert_int_equal(config_from_json(&again, without, NULL, NULL, &err), RT_OK);
    assert_memory_equal(&again, &config, sizeof config);
    json_decref(object);
    free(without);
    free(json);
}

static void test_schema(void **state) {
    (void)state;
    char *json = NULL;
    assert_int_equal(config_schema_json(&json, NULL), RT_OK);
    json_t *schema = json_loads(json, 0, NULL);
    int32_t n_rows = 0;
    config_rows(&n_rows);
    assert_int_equal(json_array_size(json_object_get(schema, "parameters")), n_rows);
    const json_t *quality = json_object_get(json_object_get(schema, "presets"), "quality");
    assert_int_equal(json_integer_value(json_object_get(quality, "steps")), 30000);
    json_decref(schema);
    free(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_inside_their_ranges),
        cmocka_unit_test(test_presets_differ),
        cmocka_unit_test(test_faults_are_named),
        cmocka_unit_test(test_json_reports_every_fault),
        cmocka_unit_test(test_json_round_trip),
        cmocka_unit_test(test_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
