import type { FastifyReply } from "fastify";

/** Aborts when the client goes away before the answer is complete. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) gone.abort();
  });
  return gone.signal;
}
