/** Bytes that can be transferred to another thread; copied unless they own their buffer. */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const isAlone =
    bytes.buffer instanceof ArrayBuffer &&
    bytes.byteOffset === 0 &&
    bytes.byteLength === bytes.buffer.byteLength;
  if (!isAlone) return Uint8Array.from(bytes);
  return new Uint8Array(bytes.buffer as ArrayBuffer);
}
