/* Bodies of POST /v1/reconstructions, and what is made of them for the journal. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "api/wire_reconstruction.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct wire_faults faults = {0};
    struct recon_request request, again;
    json_t *body = wire_parse(bytes, n_bytes, true, &faults);
    if (!body) return 0;
    wire_reconstruction_request(&faults, body, "preview", &request);
    json_decref(body);
    if (faults.n_faults == 0) { /* what was accepted must be readable at the next start */
        char *text = wire_reconstruction_text(&request);
        if (!text || wire_reconstruction_stored(text, &again, NULL) != RT_OK) abort();
        recon_request_free(&again);
        free(text);
    }
    recon_request_free(&request);
    return 0;
}
