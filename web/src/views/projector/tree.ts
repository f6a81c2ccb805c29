// A quadtree or octree over points: how all of them push one away, with far groups taken as one (Barnes and Hut).

const DEEPEST = 48;

export class Tree {
  private readonly branches: number;
  private readonly capacity: number;
  private readonly children: Int32Array;
  private readonly mass: Float64Array;
  private readonly centre: Float64Array;
  private readonly isLeaf: Uint8Array;
  private used = 0;
  private readonly low: number[] = [];
  private size = 1;
  private readonly stackNode = new Int32Array(1024);
  private readonly stackSize = new Float64Array(1024);

  constructor(
    private readonly count: number,
    private readonly dimensions: number,
  ) {
    this.branches = 1 << dimensions;
    this.capacity = 6 * count + 64; // when it is full, near points stay together
    this.children = new Int32Array(this.capacity * this.branches);
    this.mass = new Float64Array(this.capacity);
    this.centre = new Float64Array(this.capacity * dimensions);
    this.isLeaf = new Uint8Array(this.capacity);
  }

  build(places: Float64Array): void {
    const { dimensions, count } = this;
    this.size = 1e-12;
    for (let axis = 0; axis < dimensions; axis++) {
      let [least, most] = [Infinity, -Infinity];
      for (let point = 0; point < count; point++) {
        const at = places[point * dimensions + axis]!;
        least = Math.min(least, at);
        most = Math.max(most, at);
      }
      this.low[axis] = least;
      this.size = Math.max(this.size, (most - least) * 1.0001);
    }
    this.used = 0;
    this.add();
    for (let point = 0; point < count; point++) this.insert(places, point * dimensions);
    for (let node = 0; node < this.used; node++) for (let axis = 0; axis < dimensions; axis++) this.centre[node * dimensions + axis]! /= this.mass[node] || 1;
  }

  private add(): number {
    const node = this.used++;
    this.mass[node] = 0;
    this.isLeaf[node] = 1;
    this.children.fill(-1, node * this.branches, (node + 1) * this.branches);
    this.centre.fill(0, node * this.dimensions, (node + 1) * this.dimensions);
    return node;
  }

  /** Sums of places stand in `centre` until all points are in. */
  private insert(from: Float64Array, start: number): void {
    const { dimensions, centre } = this;
    const corner = [...this.low];
    let [node, size] = [0, this.size];
    for (let depth = 0; ; depth++) {
      const before = this.mass[node]!;
      if (this.isLeaf[node] && before > 0 && depth < DEEPEST && this.used + 2 < this.capacity && !this.isSame(node, from, start)) this.split(node, corner, size);
      const wasEmpty = before === 0;
      this.mass[node] = before + 1;
      for (let axis = 0; axis < dimensions; axis++) centre[node * dimensions + axis]! += from[start + axis]!;
      if (wasEmpty || this.isLeaf[node]) return;
      size /= 2;
      const branch = this.branchOf(corner, size, from, start);
      for (let axis = 0; axis < dimensions; axis++) if (branch & (1 << axis)) corner[axis]! += size;
      let child = this.children[node * this.branches + branch]!;
      if (child < 0) {
        if (this.used >= this.capacity) return;
        child = this.children[node * this.branches + branch] = this.add();
      }
      node = child;
    }
  }

  /** What the leaf holds goes one level down. */
  private split(node: number, corner: readonly number[], size: number): void {
    const { dimensions, centre } = this;
    const mean = new Float64Array(dimensions);
    for (let axis = 0; axis < dimensions; axis++) mean[axis] = centre[node * dimensions + axis]! / this.mass[node]!;
    const child = this.add();
    this.children[node * this.branches + this.branchOf(corner, size / 2, mean, 0)] = child;
    this.mass[child] = this.mass[node]!;
    for (let axis = 0; axis < dimensions; axis++) centre[child * dimensions + axis] = centre[node * dimensions + axis]!;
    this.isLeaf[node] = 0;
  }

  private isSame(node: number, from: Float64Array, start: number): boolean {
    for (let axis = 0; axis < this.dimensions; axis++) if (this.centre[node * this.dimensions + axis]! / this.mass[node]! !== from[start + axis]!) return false;
    return true;
  }

  private branchOf(corner: readonly number[], half: number, from: Float64Array, start: number): number {
    let branch = 0;
    for (let axis = 0; axis < this.dimensions; axis++) if (from[start + axis]! >= corner[axis]! + half) branch |= 1 << axis;
    return branch;
  }

  /** Adds to `made` how the point is pushed; gives the sum of the weights, its own 1 included. */
  push(places: Float64Array, point: number, made: Float64Array, theta: number): number {
    const { dimensions, centre, mass, branches, stackNode, stackSize } = this;
    const start = point * dimensions;
    const limit = theta * theta;
    let [top, sum] = [1, 0];
    stackNode[0] = 0;
    stackSize[0] = this.size;
    while (top > 0) {
      const node = stackNode[--top]!;
      const size = stackSize[top]!;
      let far = 0;
      for (let axis = 0; axis < dimensions; axis++) {
        const apart = places[start + axis]! - centre[node * dimensions + axis]!;
        far += apart * apart;
      }
      if (this.isLeaf[node] || size * size < limit * far) {
        const weight = 1 / (1 + far);
        const all = mass[node]! * weight;
        sum += all;
        for (let axis = 0; axis < dimensions; axis++) made[start + axis]! += all * weight * (places[start + axis]! - centre[node * dimensions + axis]!);
        continue;
      }
      for (let branch = 0; branch < branches; branch++) {
        const child = this.children[node * branches + branch]!;
        if (child < 0) continue;
        stackNode[top] = child;
        stackSize[top++] = size / 2;
      }
    }
    return sum;
  }
}
