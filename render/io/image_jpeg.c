/* JPEG by libjpeg-turbo. The decoder uses the classic interface because only that one has a
 * progress monitor (scan bombs) and a memory bound; its longjmp rule is that of image_png.c. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>
#include <turbojpeg.h>

#include "render/core/limits.h"
#include "render/io/image_codec.h"

enum { MAX_SCANS = 100, MAX_DECODER_BYTES = 256 * 1024 * 1024 };

struct decoder {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    struct byte_span source;
    bool header_only;
    struct image image;
    enum rt_status status;
    struct rt_error *err;
};

bool image_is_jpeg(struct byte_span source) {
    return source.n_bytes >= 3 && memcmp(source.bytes, "\xff\xd8\xff", 3) == 0;
}

static struct decoder *decoder_of(j_common_ptr jpeg) { return jpeg->client_data; }

static void on_error(j_common_ptr jpeg) {
    struct decoder *decoder = decoder_of(jpeg);
    char message[JMSG_LENGTH_MAX];
    decoder->errors.format_message(jpeg, message);
    int code = decoder->errors.msg_code;
    bool is_short = code == JWRN_JPEG_EOF || code == JERR_INPUT_EOF || code == JWRN_HIT_MARKER;
    decoder->status = code == JERR_OUT_OF_MEMORY
                          ? rt_fail(decoder->err, RT_NO_MEMORY, "JPEG: out of memory")
                          : rt_fail_file(decoder->err, is_short ? "truncated" : "bad-value", -1,
                                         "JPEG: %.150s", message);
    longjmp(decoder->escape, 1);
}

/* libjpeg carries on after a warning with grey blocks; a picture with one is not the picture. */
static void on_message(j_common_ptr jpeg, int level) {
    if (level < 0) on_error(jpeg);
}

static void on_progress(j_common_ptr jpeg) {
    struct decoder *decoder = decoder_of(jpeg);
    if (decoder->jpeg.input_scan_number <= MAX_SCANS) return;
    decoder->status =
        rt_fail_file(decoder->err, "limit", -1, "JPEG: more than %d scans", MAX_SCANS);
    longjmp(decoder->escape, 1);
}

static enum rt_status choose_output(struct decoder *decoder) {
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    RT_TRY(image_check_size("JPEG", jpeg->image_width, jpeg->image_height, decoder->err));
    if (jpeg->num_components != 1 && jpeg->num_components != 3) {
        return rt_coded(decoder->err,
                        rt_fail(decoder->err, RT_UNSUPPORTED,
                                "JPEG with %d colour components (CMYK?): store it as RGB",
                                jpeg->num_components),
                        "unsupported-format");
    }
    jpeg->out_color_space = jpeg->num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    decoder->image = (struct image){.width_px = (int32_t)jpeg->image_width,
                                    .height_px = (int32_t)jpeg->image_height,
                                    .n_channels = jpeg->num_components,
                                    .type = IMAGE_U8};
    if (decoder->header_only) return RT_OK;
    struct image shape = decoder->image;
    return image_create(&decoder->image, shape.width_px, shape.height_px, shape.n_channels,
                        IMAGE_U8, decoder->err);
}

static void read_rows(struct decoder *decoder) {
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    jpeg_start_decompress(jpeg);
    size_t row_bytes = (size_t)decoder->image.width_px * (size_t)decoder->image.n_channels;
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW row = image_u8(&decoder->image) + (size_t)jpeg->output_scanline * row_bytes;
        jpeg_read_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_decompress(jpeg);
}

/* No local of this function lives across the setjmp. */
static void read_guarded(struct decoder *decoder) {
    if (setjmp(decoder->escape)) return;
    jpeg_create_decompress(&decoder->jpeg);
    decoder->jpeg.client_data = decoder;
    decoder->jpeg.mem->max_memory_to_use = MAX_DECODER_BYTES;
    decoder->jpeg.progress = &decoder->progress;
    jpeg_mem_src(&decoder->jpeg, decoder->source.bytes, (unsigned long)decoder->source.n_bytes);
    jpeg_read_header(&decoder->jpeg, TRUE);
    decoder->status = choose_output(decoder);
    if (decoder->status == RT_OK && !decoder->header_only) read_rows(decoder);
}

enum rt_status image_decode_jpeg(struct byte_span source, bool header_only, struct image *out,
                                 struct rt_error *err) {
    memset(out, 0, sizeof *out);
    struct decoder decoder = {.source = source, .header_only = header_only, .err = err};
    decoder.jpeg.err = jpeg_std_error(&decoder.errors);
    decoder.jpeg.client_data = &decoder; /* before create: it may fail already */
    decoder.errors.error_exit = on_error;
    decoder.errors.emit_message = on_message;
    decoder.progress.progress_monitor = on_progress;
    read_guarded(&decoder);
    jpeg_destroy_decompress(&decoder.jpeg);
    if (decoder.status == RT_OK) {
        *out = decoder.image;
    } else {
        image_destroy(&decoder.image);
    }
    return decoder.status;
}

enum rt_status image_encode_jpeg(const struct image *image, int quality, struct rt_bytes *out,
                                 struct rt_error *err) {
    memset(out, 0, sizeof *out);
    if (image->type != IMAGE_U8 || (image->n_channels != 1 && image->n_channels != 3)) {
        return rt_fail(err, RT_INVALID, "JPEG holds 8-bit grey or RGB, not %d channels",
                       image->n_channels);
    }
    if (quality < 1 || quality > 100) {
        return rt_fail(err, RT_INVALID, "JPEG quality %d must be 1...100", quality);
    }
    int sampling = quality >= 90 ? TJSAMP_444 : TJSAMP_420;
    if (image->n_channels == 1) sampling = TJSAMP_GRAY;
    unsigned long n_bytes = tjBufSize(image->width_px, image->height_px, sampling);
    out->bytes = malloc(n_bytes);
    tjhandle encoder = tjInitCompress();
    enum rt_status status = RT_OK;
    unsigned char *target = out->bytes;
    if (!encoder || !target) {
        status = rt_fail(err, RT_NO_MEMORY, "JPEG: out of memory");
    } else if (tjCompress2(encoder, image_u8(image), image->width_px, 0, image->height_px,
                           image->n_channels == 1 ? TJPF_GRAY : TJPF_RGB, &target, &n_bytes,
                           sampling, quality, TJFLAG_NOREALLOC) != 0) {
        status = rt_fail(err, RT_INTERNAL, "JPEG: %.150s", tjGetErrorStr2(encoder));
    }
    if (encoder) tjDestroy(encoder);
    out->n_bytes = n_bytes;
    if (status != RT_OK) rt_bytes_free(out);
    return status;
}
