// Vectors, quaternions (w,x,y,z) and camera poses. World: x forward, y left, z up. Camera: x right,
// y down, z forward. A pose is {t:[x,y,z], q_wxyz:[w,x,y,z]} = T_world_camera.

export const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scale = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a, b) => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
export const length = (a) => Math.hypot(...a);
export const normalised = (a) => scale(a, 1 / (length(a) || 1));

export function rotate(q, v) {
  const [w, x, y, z] = q;
  const u = [x, y, z];
  const t = scale(cross(u, v), 2);
  return add(add(v, scale(t, w)), cross(u, t));
}

export function multiply(a, b) {
  return [
    a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
    a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
    a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
    a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
  ];
}

// Rotation about a unit axis by an angle in radians.
export function axisAngle(axis, angle) {
  const s = Math.sin(angle / 2);
  return [Math.cos(angle / 2), axis[0] * s, axis[1] * s, axis[2] * s];
}

// Quaternion of the rotation whose columns are the camera axes right, down, forward in the world.
export function fromAxes(right, down, forward) {
  const [a, b, c] = [right, down, forward];
  const trace = a[0] + b[1] + c[2];
  let q;
  if (trace > 0) {
    q = [1 + trace, b[2] - c[1], c[0] - a[2], a[1] - b[0]];
  } else if (a[0] >= b[1] && a[0] >= c[2]) {
    q = [b[2] - c[1], 1 + a[0] - b[1] - c[2], b[0] + a[1], c[0] + a[2]];
  } else if (b[1] >= c[2]) {
    q = [c[0] - a[2], b[0] + a[1], 1 - a[0] + b[1] - c[2], c[1] + b[2]];
  } else {
    q = [a[1] - b[0], c[0] + a[2], c[1] + b[2], 1 - a[0] - b[1] + c[2]];
  }
  const n = Math.hypot(...q);
  return q.map((value) => value / n);
}

// A camera at `eye` that looks along `forward`, its down axis as far from `up` as possible.
export function lookAlong(eye, forward, up) {
  const f = normalised(forward);
  let right = cross(f, up);
  if (length(right) < 1e-6) right = cross(f, [1, 0, 0]);
  right = normalised(right);
  return { t: eye, q_wxyz: fromAxes(right, cross(f, right), f) };
}

export const forwardOf = (pose) => rotate(pose.q_wxyz, [0, 0, 1]);
export const rightOf = (pose) => rotate(pose.q_wxyz, [1, 0, 0]);
export const downOf = (pose) => rotate(pose.q_wxyz, [0, 1, 0]);

export const poseText = (pose) =>
  [...pose.t, ...pose.q_wxyz].map((value) => Number(value.toPrecision(6))).join(",");

export function poseParse(text) {
  const values = (text || "").split(",").map(Number);
  if (values.length !== 7 || values.some((value) => !Number.isFinite(value))) return null;
  const n = Math.hypot(...values.slice(3));
  if (n < 1e-6) return null;
  return { t: values.slice(0, 3), q_wxyz: values.slice(3).map((value) => value / n) };
}
