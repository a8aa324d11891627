#include "recon/synth_cast.h"

#include <math.h>
#include <stddef.h>

static const float nearest_m = 1e-4f;

static vec3 turned(vec3 v, float yaw_cos, float yaw_sin) {
    return vec3_make(yaw_cos * v.x - yaw_sin * v.y, yaw_sin * v.x + yaw_cos * v.y, v.z);
}

static vec3 divided(vec3 a, vec3 b) { return vec3_make(a.x / b.x, a.y / b.y, a.z / b.z); }

/* The unit box: entry distance into [-1,1]^3 and the normal there. */
static bool cast_box(vec3 o, vec3 d, float limit, float *distance, vec3 *normal) {
    const float origin[3] = {o.x, o.y, o.z}, direction[3] = {d.x, d.y, d.z};
    float near = -INFINITY, far = INFINITY;
    int i_near = 0;
    for (int i = 0; i < 3; i++) {
        float inverse = 1.0f / direction[i];
        float side = copysignf(1.0f, direction[i]);
        float t0 = (-side - origin[i]) * inverse, t1 = (side - origin[i]) * inverse;
        if (t0 > near) {
            near = t0;
            i_near = i;
        }
        if (t1 < far) far = t1;
    }
    if (!(near <= far) || near < nearest_m || near >= limit) return false;
    *distance = near;
    float sign = -copysignf(1.0f, direction[i_near]);
    *normal =
        vec3_make(i_near == 0 ? sign : 0.0f, i_near == 1 ? sign : 0.0f, i_near == 2 ? sign : 0.0f);
    return true;
}

static bool cast_sphere(vec3 o, vec3 d, float limit, float *distance, vec3 *normal) {
    float a = vec3_dot(d, d), b = vec3_dot(o, d);
    /* The foot of the perpendicular keeps the discriminant accurate far away. */
    vec3 foot = vec3_sub(o, vec3_scale(d, b / a));
    float rest = 1.0f - vec3_dot(foot, foot);
    if (rest < 0.0f) return false;
    float t = -b / a - sqrtf(rest / a);
    if (t < nearest_m || t >= limit) return false;
    *distance = t;
    *normal = vec3_add(o, vec3_scale(d, t));
    return true;
}

/* The unit cylinder about z, |z| <= 1, with caps. */
static bool cast_cylinder(vec3 o, vec3 d, float limit, float *distance, vec3 *normal) {
    float a = d.x * d.x + d.y * d.y, b = o.x * d.x + o.y * d.y;
    if (a > 0.0f) {
        vec2 foot = vec2_make(o.x - d.x * b / a, o.y - d.y * b / a);
        float rest = 1.0f - (foot.x * foot.x + foot.y * foot.y);
        if (rest < 0.0f) return false;
        float t = -b / a - sqrtf(rest / a);
        float z = o.z + t * d.z;
        if (t >= nearest_m && t < limit && fabsf(z) <= 1.0f) {
            *distance = t;
            *normal = vec3_make(o.x + t * d.x, o.y + t * d.y, 0.0f);
            return true;
        }
    }
    float side = d.z > 0.0f ? -1.0f : 1.0f;
    float t = (side - o.z) / d.z;
    float x = o.x + t * d.x, y = o.y + t * d.y;
    if (!(t >= nearest_m && t < limit) || !(x * x + y * y <= 1.0f)) return false;
    *distance = t;
    *normal = vec3_make(0.0f, 0.0f, side);
    return true;
}

/* One solid; the ray is in the frame the solid's centre and yaw refer to. */
static bool cast_solid(const struct synth_solid *solid, const struct synth_ray *ray,
                       float *distance, vec3 *unit_normal) {
    vec3 o = turned(vec3_sub(ray->origin, solid->centre), solid->yaw_cos, -solid->yaw_sin);
    vec3 d = turned(ray->direction, solid->yaw_cos, -solid->yaw_sin);
    o = divided(o, solid->half);
    d = divided(d, solid->half);
    switch (solid->shape) {
        case SYNTH_BOX:
            return cast_box(o, d, ray->distance_max, distance, unit_normal);
        case SYNTH_ELLIPSOID:
            return cast_sphere(o, d, ray->distance_max, distance, unit_normal);
        case SYNTH_CYLINDER_Z:
            return cast_cylinder(o, d, ray->distance_max, distance, unit_normal);
        case SYNTH_CYLINDER_Y:
            break;
    }
    vec3 n;
    o = vec3_make(o.z, o.x, o.y);
    d = vec3_make(d.z, d.x, d.y);
    if (!cast_cylinder(o, d, ray->distance_max, distance, &n)) return false;
    *unit_normal = vec3_make(n.y, n.z, n.x);
    return true;
}

/* fminf and fmaxf are calls, for the sake of NaN; there is none here and this loop is hot. */
static float least(float a, float b) { return a < b ? a : b; }
static float most(float a, float b) { return a > b ? a : b; }

static bool reaches(const struct synth_node *node, vec3 o, vec3 inverse, float limit) {
    float x0 = (node->low.x - o.x) * inverse.x, x1 = (node->high.x - o.x) * inverse.x;
    float y0 = (node->low.y - o.y) * inverse.y, y1 = (node->high.y - o.y) * inverse.y;
    float z0 = (node->low.z - o.z) * inverse.z, z1 = (node->high.z - o.z) * inverse.z;
    float near = most(most(least(x0, x1), least(y0, y1)), most(least(z0, z1), 0.0f));
    float far = least(least(most(x0, x1), most(y0, y1)), least(most(z0, z1), limit));
    return near <= far;
}

/* 1/x, finite for x = 0 so that no slab distance is NaN. */
static float inverse_finite(float x) { return 1.0f / (fabsf(x) < 1e-20f ? 1e-20f : x); }

/* Nearest static solid; narrows ray->distance_max. With `any`, stops at the first one found. */
static const struct synth_solid *cast_tree(const struct synth_world *world, struct synth_ray *ray,
                                           bool any, vec3 *unit_normal) {
    const struct synth_solid *found = NULL;
    vec3 inverse = vec3_make(inverse_finite(ray->direction.x), inverse_finite(ray->direction.y),
                             inverse_finite(ray->direction.z));
    const float direction[3] = {ray->direction.x, ray->direction.y, ray->direction.z};
    int32_t stack[64], n_stack = 0;
    stack[n_stack++] = 0;
    while (n_stack > 0) {
        const struct synth_node *node = &world->nodes[stack[--n_stack]];
        if (!reaches(node, ray->origin, inverse, ray->distance_max)) continue;
        if (node->n == 0) {
            int32_t backwards = direction[node->i_axis] < 0.0f;
            stack[n_stack++] = node->first + 1 - backwards;
            stack[n_stack++] = node->first + backwards;
            continue;
        }
        for (int32_t i = node->first; i < node->first + node->n; i++) {
            if (!cast_solid(&world->solids[i], ray, &ray->distance_max, unit_normal)) continue;
            found = &world->solids[i];
            if (any) return found;
        }
    }
    return found;
}

/* Nearest solid of the actors; *i_actor says whose. Narrows ray->distance_max. */
static const struct synth_solid *cast_actors(const struct synth_world *world,
                                             const struct synth_instant *instant,
                                             struct synth_ray *ray, int32_t *i_actor,
                                             vec3 *unit_normal) {
    const struct synth_solid *found = NULL;
    for (int32_t i = 0; i < instant->n_actors; i++) {
        const struct synth_actor *actor = &world->actors[i];
        const struct synth_placement *at = &instant->actors[i];
        if (!at->is_present) continue;
        vec3 o = vec3_sub(ray->origin, at->position);
        float along = -vec3_dot(o, ray->direction);
        float miss = vec3_dot(o, o) - along * along;
        if (miss > actor->radius * actor->radius || along < -actor->radius) continue;
        struct synth_ray own = {turned(o, at->yaw_cos, -at->yaw_sin),
                                turned(ray->direction, at->yaw_cos, -at->yaw_sin),
                                ray->distance_max};
        for (int32_t k = 0; k < actor->n_solids; k++) {
            const struct synth_solid *solid = &world->actor_solids[actor->first_solid + k];
            if (!cast_solid(solid, &own, &own.distance_max, unit_normal)) continue;
            found = solid;
            *i_actor = i;
            ray->distance_max = own.distance_max;
        }
    }
    return found;
}

static vec3 along(const struct synth_ray *ray, float t) {
    return vec3_add(ray->origin, vec3_scale(ray->direction, t));
}

static float lateral_at(const struct synth_ray *ray, float t) {
    vec3 p = along(ray, t);
    return street_lateral(p.x, p.y);
}

/* Where the ray goes over the kerb between t_pavement (level of the pavement, over the road) and
 * t_road (level of the road, under the pavement). */
static float cast_kerb(const struct synth_ray *ray, float t_pavement, float t_road) {
    for (int i = 0; i < 20; i++) {
        float middle = 0.5f * (t_pavement + t_road);
        if (fabsf(lateral_at(ray, middle)) < STREET_KERB_M) {
            t_pavement = middle;
        } else {
            t_road = middle;
        }
    }
    return t_pavement;
}

/* The two levels of the ground and the step between them. */
static bool cast_ground(const struct synth_ray *ray, struct synth_hit *hit) {
    if (ray->direction.z > -1e-6f) return false;
    float t = (STREET_PAVEMENT_HEIGHT_M - ray->origin.z) / ray->direction.z;
    float t_road = -ray->origin.z / ray->direction.z;
    if (t_road < nearest_m) return false;
    hit->normal = vec3_make(0.0f, 0.0f, 1.0f);
    hit->surface = SURFACE_PAVEMENT;
    if (t < nearest_m || fabsf(lateral_at(ray, t)) < STREET_KERB_M) {
        float t_above = fmaxf(t, 0.0f);
        t = t_road;
        hit->surface = SURFACE_ROAD;
        if (fabsf(lateral_at(ray, t_road)) >= STREET_KERB_M) {
            t = cast_kerb(ray, t_above, t_road);
            float side = lateral_at(ray, t) > 0.0f ? -1.0f : 1.0f;
            float heading_rad = street_heading_rad(along(ray, t).x);
            hit->normal = vec3_make(-side * sinf(heading_rad), side * cosf(heading_rad), 0.0f);
            hit->surface = SURFACE_KERB;
        }
    }
    if (t >= ray->distance_max) return false;
    hit->distance = t;
    hit->position = along(ray, t);
    hit->local = vec3_make(hit->position.x, street_lateral(hit->position.x, hit->position.y),
                           hit->position.z);
    hit->local_normal = hit->normal;
    hit->solid = NULL;
    hit->i_object = SYNTH_GROUND_OBJECT;
    return true;
}

/* Fills the hit on a solid; `at` places the solid's frame, NULL for static ones. */
static void fill_hit(const struct synth_ray *ray, const struct synth_solid *solid,
                     const struct synth_placement *at, vec3 unit_normal, struct synth_hit *hit) {
    vec3 local_normal = divided(unit_normal, solid->half);
    local_normal = vec3_scale(local_normal, 1.0f / vec3_length(local_normal));
    vec3 normal = turned(local_normal, solid->yaw_cos, solid->yaw_sin);
    hit->position = along(ray, hit->distance);
    vec3 p = hit->position;
    if (at) {
        p = turned(vec3_sub(p, at->position), at->yaw_cos, -at->yaw_sin);
        normal = turned(normal, at->yaw_cos, at->yaw_sin);
    }
    hit->normal = normal;
    hit->local = turned(vec3_sub(p, solid->centre), solid->yaw_cos, -solid->yaw_sin);
    hit->local_normal = local_normal;
    hit->solid = solid;
    hit->surface = solid->surface;
    hit->i_object = solid->i_object;
}

bool synth_cast(const struct synth_world *world, const struct synth_instant *instant,
                const struct synth_ray *ray, struct synth_hit *out) {
    struct synth_ray left = *ray;
    vec3 normal = {0.0f, 0.0f, 0.0f};
    int32_t i_actor = -1;
    bool on_ground = cast_ground(&left, out);
    if (on_ground) left.distance_max = out->distance;
    const struct synth_solid *solid = cast_tree(world, &left, false, &normal);
    const struct synth_solid *moving = cast_actors(world, instant, &left, &i_actor, &normal);
    if (moving) solid = moving;
    if (!solid) return on_ground;
    out->distance = left.distance_max;
    fill_hit(ray, solid, moving ? &instant->actors[i_actor] : NULL, normal, out);
    return true;
}

bool synth_is_blocked(const struct synth_world *world, const struct synth_instant *instant,
                      const struct synth_ray *ray) {
    struct synth_ray left = *ray;
    vec3 normal;
    int32_t i_actor;
    if (cast_tree(world, &left, true, &normal)) return true;
    if (cast_actors(world, instant, &left, &i_actor, &normal)) return true;
    /* From the road upwards only the kerb can be in the way. */
    float t = (STREET_PAVEMENT_HEIGHT_M - ray->origin.z) / ray->direction.z;
    return ray->origin.z < STREET_PAVEMENT_HEIGHT_M && ray->direction.z > 0.0f &&
           t < ray->distance_max && fabsf(lateral_at(ray, 0.0f)) < STREET_KERB_M &&
           fabsf(lateral_at(ray, t)) >= STREET_KERB_M;
}
