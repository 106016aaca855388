/**
 * Sends frames that wait as one piece [CL41]. The HTTP/2 client writes a piece in the next turn of
 * the event loop at the earliest. If each frame is a piece, a busy coordinator writes fewer frames
 * a second than a deployment of many queries needs, and heartbeats wait behind them until their
 * worker is taken for lost.
 */
import type { UniversalClientFn } from "@connectrpc/connect/protocol";

/** How much is read ahead of what is written. Together with one frame, the longest piece. */
const bytesAheadMax = 64 * 1024;

/** `client`, whose requests send their bodies so. */
export function joiningChunks(client: UniversalClientFn): UniversalClientFn {
  return (request) => {
    const { body } = request;
    return client(body === undefined ? request : { ...request, body: joinChunks(body) });
  };
}

/** The same bytes, in pieces of whatever has come since the last one was taken. */
export async function* joinChunks(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const ahead = new ReadAhead();
  void ahead.read(source);
  try {
    for (let piece = await ahead.take(); piece !== undefined; piece = await ahead.take()) {
      yield piece;
    }
  } finally {
    ahead.stop();
  }
}

class ReadAhead {
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #end: { readonly error?: unknown } | undefined;
  #isStopped = false;
  /** Somebody has to look again: something has come, or has been taken. */
  #changed = Promise.withResolvers<void>();

  /** Until the source has ended; never rejects. */
  async read(source: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const chunk of source) {
        this.#chunks.push(chunk);
        this.#bytes += chunk.length;
        this.#change();
        while (this.#bytes >= bytesAheadMax && !this.#isStopped) await this.#changed.promise;
        if (this.#isStopped) break;
      }
      this.#end = {};
    } catch (error) {
      this.#end = { error };
    }
    this.#change();
  }

  /** `undefined`: the source has ended. Throws what it ended with. */
  async take(): Promise<Uint8Array | undefined> {
    while (this.#chunks.length === 0) {
      if (this.#end !== undefined) {
        if ("error" in this.#end) throw this.#end.error;
        return undefined;
      }
      await this.#changed.promise;
    }
    const piece = Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#bytes = 0;
    this.#change();
    return piece;
  }

  /** Nobody takes any more. */
  stop(): void {
    this.#isStopped = true;
    this.#change();
  }

  #change(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}
