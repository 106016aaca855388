/**
 * Space that kernels use for one series and then again for the next, so that nothing is allocated per series.
 *
 *   1  Each buffer has one user: the module that made it.
 *   2  Its contents mean nothing once that user's kernel has returned.
 *   3  It grows by doubling and never shrinks: the longest series decides. What is longer than most is not kept.
 */
const keptLengthMax = 1_048_576;

export class FloatScratch {
  #buffer = new Float64Array(1024);

  /** At least `length` elements, with anything in them. */
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
