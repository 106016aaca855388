/**
 * An edge between two threads: a ring of bytes in shared memory that one thread writes and another
 * reads. Frames are multiples of 8 bytes, and may be larger than the ring: they go through in
 * pieces. Nobody blocks: who finds the ring full or empty waits with `Atomics.waitAsync` (SU21).
 */
import { frameLength } from "../../engine/core/index.ts";
import type { InEdge, OutEdge } from "../core/edge.ts";

/** Words of the ring's head, each in a cache line of its own. */
const written = 0;
const read = 16;
const closed = 32;
/** Count the writes and reads, and the end: what the other side waits for a change of. */
const writes = 48;
const reads = 64;
const headBytes = 320;

/** The bytes that may wait in front of a full ring before the sender is told to. */
const waitingBytesMax = 512 * 1024;

/** `capacityBytes` is a power of two. */
export function createRing(capacityBytes: number): SharedArrayBuffer {
  return new SharedArrayBuffer(headBytes + capacityBytes);
}

interface Ring {
  readonly head: Int32Array<SharedArrayBuffer>;
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  readonly capacity: number;
}

function openRing(memory: SharedArrayBuffer): Ring {
  return {
    head: new Int32Array(memory, 0, headBytes / 4),
    bytes: new Uint8Array(memory, headBytes),
    capacity: memory.byteLength - headBytes,
  };
}

async function changed(
  head: Int32Array<SharedArrayBuffer>,
  word: number,
  seen: number,
): Promise<void> {
  const { async: waits, value } = Atomics.waitAsync(head, word, seen);
  if (waits) await value;
}

function signal(head: Int32Array<SharedArrayBuffer>, word: number): void {
  Atomics.add(head, word, 1);
  Atomics.notify(head, word);
}

function close(head: Int32Array<SharedArrayBuffer>): void {
  Atomics.store(head, closed, 1);
  signal(head, writes);
  signal(head, reads);
}

export function openRingOut(memory: SharedArrayBuffer): OutEdge {
  const { head, bytes, capacity } = openRing(memory);
  const waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  let draining: Promise<void> | undefined;

  /** Writes as much of a frame as there is room for, and returns how much. */
  function write(frame: Uint8Array): number {
    const at = Atomics.load(head, written);
    const room = capacity - ((at - Atomics.load(head, read)) >>> 0);
    const count = Math.min(room, frame.length);
    if (count === 0) return 0;
    const from = (at >>> 0) % capacity;
    const first = Math.min(count, capacity - from);
    bytes.set(frame.subarray(0, first), from);
    if (count > first) bytes.set(frame.subarray(first, count), 0);
    Atomics.store(head, written, (at + count) | 0);
    signal(head, writes);
    return count;
  }

  async function drain(): Promise<void> {
    while (waiting.length > 0 && Atomics.load(head, closed) === 0) {
      const [frame = new Uint8Array(0)] = waiting;
      const seen = Atomics.load(head, reads);
      const count = write(frame);
      waitingBytes -= count;
      if (count === frame.length) waiting.shift();
      else {
        waiting[0] = frame.subarray(count);
        await changed(head, reads, seen);
      }
    }
    draining = undefined;
  }

  return {
    send: (frame) => {
      const count = waiting.length === 0 ? write(frame) : 0;
      if (count === frame.length) return undefined;
      waiting.push(frame.subarray(count));
      waitingBytes += frame.length - count;
      draining ??= drain();
      return waitingBytes > waitingBytesMax ? draining : undefined;
    },
    flush: async () => await draining,
    get heldBytes() {
      return capacity + waitingBytes;
    },
    get backlogBytes() {
      return ((Atomics.load(head, written) - Atomics.load(head, read)) >>> 0) + waitingBytes;
    },
    close: () => close(head),
  };
}

export function openRingIn(memory: SharedArrayBuffer): InEdge {
  const { head, bytes, capacity } = openRing(memory);
  let frame = new Uint8Array(64 * 1024);
  const start = new Uint8Array(8);

  function take(into: Uint8Array, from: number, count: number): void {
    const at = Atomics.load(head, read);
    const begin = (at >>> 0) % capacity;
    const first = Math.min(count, capacity - begin);
    into.set(bytes.subarray(begin, begin + first), from);
    if (count > first) into.set(bytes.subarray(0, count - first), from + first);
    Atomics.store(head, read, (at + count) | 0);
    signal(head, reads);
  }

  /** Waits for more bytes; 0 when the ring is closed and empty. */
  async function available(): Promise<number> {
    for (;;) {
      const seen = Atomics.load(head, writes);
      const count = (Atomics.load(head, written) - Atomics.load(head, read)) >>> 0;
      if (count > 0) return count;
      if (Atomics.load(head, closed) === 1) return 0;
      await changed(head, writes, seen);
    }
  }

  return {
    receive: async () => {
      if ((await available()) === 0) return undefined;
      take(start, 0, 8);
      const length = frameLength(start);
      if (frame.length < length) frame = new Uint8Array(2 * length);
      frame.set(start);
      let filled = 8;
      while (filled < length) {
        const count = Math.min(await available(), length - filled);
        if (count === 0) return undefined;
        take(frame, filled, count);
        filled += count;
      }
      return frame.subarray(0, length);
    },
    close: () => close(head),
  };
}
