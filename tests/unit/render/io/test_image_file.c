/* Pictures: what is written reads back, bombs and cut files are refused, writing is atomic. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "render/io/file_atomic.h"
#include "render/io/image_file.h"

static struct image gradient(int32_t width_px, int32_t height_px, int32_t n_channels,
                             enum image_type type) {
    struct image image;
    struct rt_error err;
    assert_int_equal(image_create(&image, width_px, height_px, n_channels, type, &err), RT_OK);
    size_t n = (size_t)width_px * (size_t)height_px * (size_t)n_channels;
    for (size_t i = 0; i < n; i++) {
        if (type == IMAGE_U8) image_u8(&image)[i] = (uint8_t)(i * 7);
        if (type == IMAGE_U16) image_u16(&image)[i] = (uint16_t)(i * 777);
        if (type == IMAGE_F32) image_f32(&image)[i] = (float)i * 0.25f;
    }
    return image;
}

static void png_round_trip(void **state) {
    (void)state;
    for (int32_t n_channels = 1; n_channels <= 4; n_channels++) {
        for (int type = IMAGE_U8; type <= IMAGE_U16; type++) {
            struct image image = gradient(13, 7, n_channels, (enum image_type)type);
            struct rt_bytes png = {0};
            struct image back = {0};
            struct rt_error err;
            assert_int_equal(image_encode_png(&image, &png, &err), RT_OK);
            assert_int_equal(image_decode(png.bytes, png.n_bytes, &back, &err), RT_OK);
            assert_int_equal(back.width_px, 13);
            assert_int_equal(back.height_px, 7);
            assert_int_equal(back.n_channels, n_channels);
            assert_int_equal(back.type, type);
            assert_memory_equal(back.pixels, image.pixels, image_bytes(&image));
            image_destroy(&back);
            image_destroy(&image);
            rt_bytes_free(&png);
        }
    }
}

static void png_cut_anywhere_is_refused(void **state) {
    (void)state;
    struct image image = gradient(9, 9, 3, IMAGE_U8);
    struct rt_bytes png = {0};
    struct rt_error err;
    assert_int_equal(image_encode_png(&image, &png, &err), RT_OK);
    for (size_t n = 0; n < png.n_bytes; n++) {
        unsigned char *copy = malloc(n > 0 ? n : 1); /* exact size: ASan sees an over-read */
        struct image back = {0};
        memcpy(copy, png.bytes, n);
        assert_int_not_equal(image_decode(copy, n, &back, &err), RT_OK);
        assert_non_null(err.code);
        assert_null(back.pixels);
        free(copy);
    }
    image_destroy(&image);
    rt_bytes_free(&png);
}

static void put_u32(unsigned char *at, uint32_t value) {
    for (int i = 0; i < 4; i++) at[i] = (unsigned char)(value >> (24 - 8 * i));
}

/* A 1x1 PNG whose header claims another size, with a right CRC. */
static struct rt_bytes claiming(uint32_t width, uint32_t height) {
    struct image image = gradient(1, 1, 1, IMAGE_U8);
    struct rt_bytes png = {0};
    struct rt_error err;
    assert_int_equal(image_encode_png(&image, &png, &err), RT_OK);
    unsigned char *bytes = png.bytes;
    put_u32(bytes + 16, width);
    put_u32(bytes + 20, height);
    put_u32(bytes + 29, (uint32_t)crc32(0, bytes + 12, 17));
    image_destroy(&image);
    return png;
}

static void png_bombs_are_refused(void **state) {
    (void)state;
    static const struct {
        uint32_t width, height;
        const char *code;
    } cases[] = {{30000, 30000, "limit"}, {16385, 1, "limit"},
                 {16384, 16384, "limit"}, {4294967295U, 4294967295U, "limit"},
                 {0, 5, "bad-value"},     {8192, 8192, "truncated"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct rt_bytes png = claiming(cases[i].width, cases[i].height);
        struct image back = {0};
        struct rt_error err;
        assert_int_not_equal(image_decode(png.bytes, png.n_bytes, &back, &err), RT_OK);
        assert_string_equal(err.code, cases[i].code);
        assert_null(back.pixels);
        rt_bytes_free(&png);
    }
}

static void jpeg_round_trip_and_cuts(void **state) {
    (void)state;
    struct image image;
    struct rt_error err;
    assert_int_equal(image_create(&image, 40, 24, 3, IMAGE_U8, &err), RT_OK);
    for (size_t i = 0; i < image_bytes(&image); i++) image_u8(&image)[i] = (uint8_t)(60 + i / 40);
    struct rt_bytes jpeg = {0};
    struct image back = {0};
    assert_int_equal(image_encode_jpeg(&image, 95, &jpeg, &err), RT_OK);
    assert_int_equal(image_decode(jpeg.bytes, jpeg.n_bytes, &back, &err), RT_OK);
    assert_int_equal(back.n_channels, 3);
    for (size_t i = 0; i < image_bytes(&image); i++) {
        assert_in_range(abs((int)image_u8(&back)[i] - (int)image_u8(&image)[i]), 0, 8);
    }
    image_destroy(&back);
    for (size_t n = 0; n < jpeg.n_bytes - 2; n += n < 700 ? 1 : 37) {
        unsigned char *copy = malloc(n > 0 ? n : 1);
        memcpy(copy, jpeg.bytes, n);
        assert_int_not_equal(image_decode(copy, n, &back, &err), RT_OK);
        assert_null(back.pixels);
        free(copy);
    }
    image_destroy(&image);
    rt_bytes_free(&jpeg);
}

static void jpeg_grey_and_refusals(void **state) {
    (void)state;
    struct image grey = gradient(16, 8, 1, IMAGE_U8);
    struct image wide = gradient(4, 4, 4, IMAGE_U8);
    struct rt_bytes jpeg = {0};
    struct image back = {0};
    struct rt_error err;
    assert_int_equal(image_encode_jpeg(&grey, 80, &jpeg, &err), RT_OK);
    assert_int_equal(image_decode(jpeg.bytes, jpeg.n_bytes, &back, &err), RT_OK);
    assert_int_equal(back.n_channels, 1);
    image_destroy(&back);
    rt_bytes_free(&jpeg);
    assert_int_equal(image_encode_jpeg(&wide, 80, &jpeg, &err), RT_INVALID);
    assert_int_equal(image_encode_jpeg(&grey, 0, &jpeg, &err), RT_INVALID);
    image_destroy(&grey);
    image_destroy(&wide);
}

static void npy_round_trip(void **state) {
    (void)state;
    struct image image = gradient(5, 3, 3, IMAGE_F32);
    struct rt_bytes npy = {0};
    struct rt_error err;
    float *values = NULL;
    int64_t shape[4];
    assert_int_equal(image_encode_npy(&image, &npy, &err), RT_OK);
    assert_int_equal((npy.n_bytes - image_bytes(&image)) % 64, 0);
    assert_int_equal(npy_decode_f32(npy.bytes, npy.n_bytes, &values, shape, &err), RT_OK);
    assert_int_equal(shape[0], 3);
    assert_int_equal(shape[1], 5);
    assert_int_equal(shape[2], 3);
    assert_int_equal(shape[3], 1);
    assert_memory_equal(values, image.pixels, image_bytes(&image));
    free(values);
    for (size_t n = 0; n < npy.n_bytes; n++) {
        assert_int_not_equal(npy_decode_f32(npy.bytes, n, &values, shape, &err), RT_OK);
        assert_null(values);
    }
    image_destroy(&image);
    rt_bytes_free(&npy);
}

static void npy_refuses_other_layouts(void **state) {
    (void)state;
    static const char *const dictionaries[] = {
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000,), }",
        "{'descr': '<f4'}"};
    for (size_t i = 0; i < sizeof dictionaries / sizeof dictionaries[0]; i++) {
        unsigned char bytes[256] = "\x93NUMPY\x01";
        size_t n = strlen(dictionaries[i]);
        bytes[8] = (unsigned char)n;
        memcpy(bytes + 10, dictionaries[i], n);
        float *values = NULL;
        int64_t shape[4];
        struct rt_error err;
        assert_int_equal(npy_decode_f32(bytes, 10 + n + 4, &values, shape, &err), RT_BAD_FILE);
        assert_null(values);
    }
}

static int count_entries(const char *folder) {
    DIR *dir = opendir(folder);
    int n = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        n += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(dir);
    return n;
}

static void writing_is_atomic(void **state) {
    (void)state;
    char folder[] = "/tmp/retake-test-XXXXXX";
    char path[128];
    struct rt_error err;
    struct rt_bytes back = {0};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.bin", folder);
    assert_int_equal(file_write_atomic(path, "one", 3, &err), RT_OK);
    assert_int_equal(file_write_atomic(path, "three", 5, &err), RT_OK);
    assert_int_equal(file_read(path, 100, &back, &err), RT_OK);
    assert_int_equal(back.n_bytes, 5);
    assert_memory_equal(back.bytes, "three", 5);
    rt_bytes_free(&back);
    assert_int_equal(file_read(path, 4, &back, &err), RT_BAD_FILE);
    assert_string_equal(err.code, "limit");
    /* The target is a folder: the rename fails and nothing stays behind. */
    snprintf(path, sizeof path, "%s/taken", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_not_equal(file_write_atomic(path, "x", 1, &err), RT_OK);
    assert_int_equal(count_entries(folder), 2);
    assert_null(strstr(err.message, folder));
    snprintf(path, sizeof path, "%s/missing/a.bin", folder);
    assert_int_equal(file_write_atomic(path, "x", 1, &err), RT_NOT_FOUND);
    snprintf(path, sizeof path, "%s/none", folder);
    assert_int_equal(file_read(path, 100, &back, &err), RT_NOT_FOUND);
    snprintf(path, sizeof path, "%s/a.bin", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/taken", folder);
    rmdir(path);
    assert_int_equal(rmdir(folder), 0);
}

static void full_disk_is_named(void **state) {
    (void)state;
    struct rt_error err;
    int fd = open("/dev/full", O_WRONLY);
    if (fd < 0) skip();
    assert_int_equal(file_write_all(fd, "x", 1, &err), RT_STORAGE_FULL);
    close(fd);
}

static void zip_is_stored_and_repeats(void **state) {
    (void)state;
    struct zip_entry entries[] = {{"rgb.npy", "abc", 3}, {"depth.npy", "", 0}};
    struct rt_bytes first = {0};
    struct rt_bytes second = {0};
    struct rt_error err;
    assert_int_equal(zip_encode(entries, 2, &first, &err), RT_OK);
    assert_int_equal(zip_encode(entries, 2, &second, &err), RT_OK);
    assert_int_equal(first.n_bytes, second.n_bytes);
    assert_memory_equal(first.bytes, second.bytes, first.n_bytes);
    assert_memory_equal(first.bytes, "PK\3\4", 4);
    assert_int_equal(((unsigned char *)first.bytes)[8], 0); /* method: stored */
    assert_memory_equal((char *)first.bytes + 30, "rgb.npyabc", 10);
    rt_bytes_free(&first);
    rt_bytes_free(&second);
}

static void files_by_ending_and_probe(void **state) {
    (void)state;
    static const char *const names[] = {"p.png", "p.jpg", "p.npy"};
    char folder[] = "/tmp/retake-test-XXXXXX";
    struct image image = gradient(16, 8, 3, IMAGE_U8);
    struct rt_error err;
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 3; i++) {
        char path[128];
        struct image shape = {0};
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(image_write(path, &image, &err), RT_OK);
        if (i < 2) {
            assert_int_equal(image_probe(path, &shape, &err), RT_OK);
            assert_int_equal(shape.width_px, 16);
            assert_int_equal(shape.height_px, 8);
            assert_int_equal(shape.n_channels, 3);
            assert_null(shape.pixels);
        } else {
            assert_int_equal(image_probe(path, &shape, &err), RT_BAD_FILE);
        }
        unlink(path);
    }
    assert_int_equal(image_write("p.bmp", &image, &err), RT_INVALID);
    image_destroy(&image);
    rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(png_round_trip),
        cmocka_unit_test(png_cut_anywhere_is_refused),
        cmocka_unit_test(png_bombs_are_refused),
        cmocka_unit_test(jpeg_round_trip_and_cuts),
        cmocka_unit_test(jpeg_grey_and_refusals),
        cmocka_unit_test(npy_round_trip),
        cmocka_unit_test(npy_refuses_other_layouts),
        cmocka_unit_test(writing_is_atomic),
        cmocka_unit_test(full_disk_is_named),
        cmocka_unit_test(zip_is_stored_and_repeats),
        cmocka_unit_test(files_by_ending_and_probe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
