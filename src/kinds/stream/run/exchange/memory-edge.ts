/** An edge within one process: a queue of frames, bounded by asking the sender to wait. */
import type { InEdge, OutEdge } from "../core/edge.ts";

/** The bytes that may wait before the sender is told to. */
export const edgeBytesMax = 1024 * 1024;

export interface MemoryEdge {
  readonly out: OutEdge;
  readonly in: InEdge;
  /** Called with the bytes of each frame that was taken. */
  onTaken: ((bytes: number) => void) | undefined;
}

export function createMemoryEdge(): MemoryEdge {
  const frames: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  let isClosed = false;
  let arrived = Promise.withResolvers<void>();
  let room = Promise.withResolvers<void>();

  const close = (): void => {
    isClosed = true;
    arrived.resolve();
    room.resolve();
  };

  const edge: MemoryEdge = {
    onTaken: undefined,
    out: {
      send: (frame) => {
        if (isClosed) return undefined;
        frames.push(frame);
        bytes += frame.length;
        arrived.resolve();
        return bytes > edgeBytesMax ? room.promise : undefined;
      },
      flush: () => Promise.resolve(),
      get heldBytes() {
        return bytes;
      },
      get backlogBytes() {
        return bytes;
      },
      close,
    },
    in: {
      receive: async () => {
        while (frames.length === 0) {
          if (isClosed) return undefined;
          arrived = Promise.withResolvers();
          await arrived.promise;
        }
        const frame = frames.shift();
        const taken = frame?.length ?? 0;
        bytes -= taken;
        if (bytes <= edgeBytesMax) {
          room.resolve();
          room = Promise.withResolvers();
        }
        edge.onTaken?.(taken);
        return frame;
      },
      close,
    },
  };
  return edge;
}
