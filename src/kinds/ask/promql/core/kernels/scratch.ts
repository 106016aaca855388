/**
 * Reusable buffers, so that kernels allocate nothing per series. Each buffer belongs to the module
 * that made it, and its contents are invalid once the kernel has returned. It grows by doubling and
 * never shrinks; buffers longer than `keptLengthMax` are not kept.
 */
const keptLengthMax = 1_048_576;

export class FloatScratch {
  #buffer = new Float64Array(1024);

  /** At least `length` elements, with arbitrary contents. */
  take(length: number): Float64Array {
    if (length > keptLengthMax) return new Float64Array(length);
    if (this.#buffer.length < length) this.#buffer = new Float64Array(grown(length));
    return this.#buffer;
  }
}

export class IndexScratch {
  #buffer = new Int32Array(1024);

  take(length: number): Int32Array {
    if (length > keptLengthMax) return new Int32Array(length);
    if (this.#buffer.length < length) this.#buffer = new Int32Array(grown(length));
    return this.#buffer;
  }
}

function grown(length: number): number {
  return 2 ** Math.ceil(Math.log2(length));
}
