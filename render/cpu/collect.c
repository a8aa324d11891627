#include "render/cpu/ops_cpu.h"

void cpu_collect(const struct collect_args *args) {
    const struct render_frame *frame = args->frame;
    /* A global shutter looks at the middle of its exposure (sensors.md section 2). */
    const struct sensor *sensor = &frame->sensor;
    struct pose T_world_sensor = sensor->T_world_sensor_start;
    if (!pose_equal(T_world_sensor, sensor->T_world_sensor_end)) {
        T_world_sensor = pose_interpolate(T_world_sensor, sensor->T_world_sensor_end, 0.5f);
    }
    struct pose T_camera_world = pose_inverse(T_world_sensor);
    int32_t first = 0;
    for (int32_t i = 0; i < frame->n_layers; i++) {
        const struct render_layer *layer = &frame->layers[i];
        struct layer_row *row = &args->rows[i];
        struct pose T_camera_node = pose_mul(T_camera_world, layer->T_world_node);
        row->gaussians = layer->gaussians;
        row->first = first;
        row->sh_degree = layer->gaussians->sh_degree < frame->sh_degree
                             ? layer->gaussians->sh_degree
                             : frame->sh_degree;
        row->R_camera_node = quat_to_mat3(T_camera_node.q);
        row->t_camera_node = T_camera_node.t;
        row->eye = pose_inverse(T_camera_node).t;
        row->antialiased = layer->antialiased;
        first += layer->gaussians->n_gaussians;
    }
}
