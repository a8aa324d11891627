// The free camera: orbit about a pivot or fly, the world's up axis staying up.
import * as P from "./pose.js";

export class FreeCamera {
  constructor(pose, up, reach) {
    this.up = P.normalised(up);
    this.reach = reach; // size of the scene in metres: first pivot distance and speed
    this.flying = false;
    this.fovDeg = 50;
    this.speed = reach / 4; // metres per second
    this.setPose(pose);
  }

  // Takes a pose as it is (roll included); the next drag levels it.
  setPose(pose) {
    this.pose = { t: [...pose.t], q_wxyz: [...(pose.q_wxyz || [1, 0, 0, 0])] };
    this.pivot = P.add(this.pose.t, P.scale(P.forwardOf(this.pose), this.reach));
  }

  setPivot(distance) {
    this.pivot = P.add(this.pose.t, P.scale(P.forwardOf(this.pose), distance));
  }

  // Turns the viewing direction; right and down are positive, radians.
  turned(direction, right, down) {
    let f = P.rotate(P.axisAngle(this.up, -right), direction);
    const side = P.normalised(P.cross(f, this.up));
    const turned = P.rotate(P.axisAngle(side, -down), f);
    // Straight up and down stay out of reach, where "right" would flip.
    if (Math.abs(P.dot(turned, this.up)) < 0.995) f = turned;
    return f;
  }

  look(right, down) {
    this.pose = P.lookAlong(this.pose.t, this.turned(P.forwardOf(this.pose), right, down), this.up);
  }

  orbit(right, down) {
    const offset = P.sub(this.pivot, this.pose.t);
    const distance = P.length(offset) || 1e-3;
    const f = this.turned(P.normalised(offset), right, down);
    this.pose = P.lookAlong(P.sub(this.pivot, P.scale(f, distance)), f, this.up);
  }

  drag(dx, dy, heightPx) {
    const angle = (this.flying ? 1.2 : 3.2) / heightPx;
    if (this.flying) this.look(-dx * angle, -dy * angle);
    else this.orbit(dx * angle, dy * angle);
  }

  pan(dx, dy, heightPx) {
    const distance = P.length(P.sub(this.pivot, this.pose.t));
    const metres = (2 * distance * Math.tan((this.fovDeg * Math.PI) / 360)) / heightPx;
    const move = P.add(
      P.scale(P.rightOf(this.pose), -dx * metres),
      P.scale(P.downOf(this.pose), -dy * metres),
    );
    this.pose = { ...this.pose, t: P.add(this.pose.t, move) };
    this.pivot = P.add(this.pivot, move);
  }

  dolly(steps) {
    if (this.flying) {
      this.speed = Math.min(100, Math.max(0.01, this.speed * 1.25 ** -steps));
      return;
    }
    const offset = P.sub(this.pivot, this.pose.t);
    this.pose = { ...this.pose, t: P.sub(this.pivot, P.scale(offset, 1.15 ** steps)) };
  }

  zoom(steps) {
    this.fovDeg = Math.min(120, Math.max(5, this.fovDeg * 1.1 ** steps));
  }

  // Moves along the camera axes; `move` = [right, up, forward] in -1...1.
  fly(move, seconds, factor) {
    const metres = this.speed * factor * seconds;
    const step = P.add(
      P.add(P.scale(P.rightOf(this.pose), move[0]), P.scale(this.up, move[1])),
      P.scale(P.forwardOf(this.pose), move[2]),
    );
    const moved = P.scale(step, metres);
    this.pose = { ...this.pose, t: P.add(this.pose.t, moved) };
    this.pivot = P.add(this.pivot, moved);
  }

  level() {
    this.pose = P.lookAlong(this.pose.t, P.forwardOf(this.pose), this.up);
  }
}
