/** Bytes that can be handed to another thread: as they are where they have a buffer to themselves, copied otherwise. */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const isAlone =
    bytes.buffer instanceof ArrayBuffer &&
    bytes.byteOffset === 0 &&
    bytes.byteLength === bytes.buffer.byteLength;
  if (!isAlone) return Uint8Array.from(bytes);
  return new Uint8Array(bytes.buffer as ArrayBuffer);
}
