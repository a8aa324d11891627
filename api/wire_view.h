/* Views from the wire: the body of POST S/render/camera and the query of GET S/frames. */
#ifndef RETAKE_API_WIRE_VIEW_H
#define RETAKE_API_WIRE_VIEW_H

#include "api/view.h"
#include "api/wire_json.h"

/* Every member of api.md section 4.2: read, or refused as unsupported-feature when it asks for what
 * this version lacks. `view` holds defaults on entry. */
void wire_view_from_json(struct wire_faults *faults, const json_t *body, struct view *view);

/* An inline camera (api.md section 4.1); RT lenses this version cannot draw are unsupported. */
void wire_camera(struct wire_faults *faults, const json_t *object, const char *at,
                 struct camera *out);

/* The query of a frame URL, its {at} ("1500000" or "f12") and extension. */
void wire_view_from_query(struct wire_faults *faults, struct http_exchange *x, struct view *view);

/* The format when the request names none, by Accept; PNG without a preference. False (and nothing
 * set) when no offered format is accepted. */
bool wire_negotiate(const char *accept, enum view_format *format);

#endif
