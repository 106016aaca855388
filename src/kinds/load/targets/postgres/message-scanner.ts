/**
 * Finds the messages in what a server sends. Bytes come in any pieces; a message that is whole in a
 * piece is handed over where it lies, one that is not is gathered first. Rows that nobody reads are
 * skipped without gathering.
 *
 *   1  `onMessage` is called once for each message, in order, with its body's bounds. The bytes are
 *      its own only until it returns.
 *   2  What is not the protocol throws a `MalformedStream`, and the scanner is of no use any more.
 *   3  Memory is bounded: by `gatheredBytesMax`, or a row's length where rows are kept.
 */
export type OnMessage = (type: number, bytes: Buffer, start: number, end: number) => void;

export class MalformedStream extends Error {
  override readonly name = "MalformedStream";
}

const headerBytes = 5;
const dataRow = 0x44;
const gatheredBytesMax = 1 << 20;
/** Postgres's own limit of a message. */
const rowBytesMax = 0x3fff_ffff;

export class MessageScanner {
  readonly #onMessage: OnMessage;
  readonly #keepsRows: boolean;
  /** Of a row that is being skipped. */
  #skippedBytes = 0;
  #gathered: Buffer = Buffer.allocUnsafeSlow(256);
  #gatheredBytes = 0;
  #isStopped = false;

  constructor(onMessage: OnMessage, options: { readonly keepsRows: boolean }) {
    this.#onMessage = onMessage;
    this.#keepsRows = options.keepsRows;
  }

  /** Nothing is handed over any more, also not what is left of the piece in hand. */
  stop(): void {
    this.#isStopped = true;
  }

  push(bytes: Buffer, length: number): void {
    let at = 0;
    if (this.#skippedBytes > 0) {
      at = Math.min(this.#skippedBytes, length);
      this.#skippedBytes -= at;
    } else if (this.#gatheredBytes > 0) {
      at = this.#completeGathered(bytes, length);
    }
    while (at + headerBytes <= length && !this.#isStopped) {
      const type = bytes[at] as number;
      const next = at + 1 + readLength(bytes, at + 1);
      if (type === dataRow && !this.#keepsRows) {
        if (next > length) {
          this.#skippedBytes = this.#checkedLength(type, next - at) - (length - at);
          return;
        }
        if (next < at + headerBytes) throw new MalformedStream("a message shorter than its header");
      } else {
        if (next > length || next < at + headerBytes) {
          this.#checkedLength(type, next - at);
          break;
        }
        this.#onMessage(type, bytes, at + headerBytes, next);
      }
      at = next;
    }
    if (at < length && !this.#isStopped) this.#gather(bytes, at, length);
  }

  /** The message that began in earlier pieces; how many bytes of this piece belong to it. */
  #completeGathered(bytes: Buffer, length: number): number {
    let at = 0;
    if (this.#gatheredBytes < headerBytes) {
      at = Math.min(headerBytes - this.#gatheredBytes, length);
      this.#gather(bytes, 0, at);
      if (this.#gatheredBytes < headerBytes) return at;
    }
    const type = this.#gathered[0] as number;
    const total = this.#checkedLength(type, 1 + readLength(this.#gathered, 1));
    if (type === dataRow && !this.#keepsRows) {
      const skipped = Math.min(total - headerBytes, length - at);
      this.#skippedBytes = total - headerBytes - skipped;
      this.#gatheredBytes = 0;
      return at + skipped;
    }
    const taken = Math.min(total - this.#gatheredBytes, length - at);
    this.#gather(bytes, at, at + taken);
    if (this.#gatheredBytes === total) {
      this.#gatheredBytes = 0;
      this.#onMessage(type, this.#gathered, headerBytes, total);
    }
    return at + taken;
  }

  #checkedLength(type: number, total: number): number {
    const bytesMax = type === dataRow ? rowBytesMax : gatheredBytesMax;
    if (total < headerBytes) throw new MalformedStream("a message shorter than its header");
    // All types are letters or digits: what is not is found before we wait for a length that will
    // not come.
    const isKnown = (type >= 0x31 && type <= 0x7a) || type === dataRow;
    if (!isKnown || total > bytesMax) throw new MalformedStream("bytes that are no message");
    return total;
  }

  #gather(bytes: Buffer, start: number, end: number): void {
    const wanted = this.#gatheredBytes + end - start;
    if (wanted > this.#gathered.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(wanted, this.#gathered.length * 2));
      this.#gathered.copy(grown, 0, 0, this.#gatheredBytes);
      this.#gathered = grown;
    }
    bytes.copy(this.#gathered, this.#gatheredBytes, start, end);
    this.#gatheredBytes = wanted;
  }
}

function readLength(bytes: Buffer, at: number): number {
  return (
    ((bytes[at] as number) << 24) |
    ((bytes[at + 1] as number) << 16) |
    ((bytes[at + 2] as number) << 8) |
    (bytes[at + 3] as number)
  );
}
