/** Where frames are written before they go out as one. */
const initialBytes = 4096;
/** Lengths for which a view is kept, so that sending the same frame again allocates nothing. */
const keptViewBytesMax = 2048;

export class SendBuffer {
  bytes: Buffer = Buffer.allocUnsafeSlow(initialBytes);
  view: DataView = viewOf(this.bytes);
  length = 0;
  #views: (Buffer | undefined)[] = [];

  /** Room for `count` more bytes. Afterwards `bytes` and `view` may be others. */
  reserve(count: number): void {
    const wanted = this.length + count;
    if (wanted <= this.bytes.length) return;
    this.#replace(Math.max(wanted, this.bytes.length * 2), this.length);
  }

  append(frame: Uint8Array): void {
    this.reserve(frame.length);
    this.bytes.set(frame, this.length);
    this.length += frame.length;
  }

  /** What was written; the next frame begins at the start, in the same memory. */
  take(): Buffer {
    const { length } = this;
    this.length = 0;
    if (length > keptViewBytesMax) return this.bytes.subarray(0, length);
    let view = this.#views[length];
    if (view === undefined) {
      view = this.bytes.subarray(0, length);
      this.#views[length] = view;
    }
    return view;
  }

  /** The memory is still being read by the socket: go on in other memory. */
  abandon(): void {
    this.#replace(initialBytes, 0);
  }

  #replace(size: number, keptBytes: number): void {
    const next = Buffer.allocUnsafeSlow(size);
    this.bytes.copy(next, 0, 0, keptBytes);
    this.bytes = next;
    this.view = viewOf(next);
    this.#views = [];
  }
}

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
