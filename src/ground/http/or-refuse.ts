import type { FastifyRequest } from "fastify";
import { problemOf } from "./problem.ts";
import { type EventSocket, refuseSocket } from "./socket-sink.ts";

/** A sentence for the descriptions of routes that are event streams. */
export const overWebSocket =
  "As a WebSocket (subprotocol `capstan`) each event is one message with the same text: browsers limit connections to a host, and do not count those.";

/** A WebSocket is open before anything can fail, so a failure is sent as its only event. */
export async function orRefuse(
  socket: EventSocket,
  request: FastifyRequest,
  serve: () => Promise<void>,
): Promise<void> {
  try {
    await serve();
  } catch (thrown) {
    refuseSocket(socket, problemOf(thrown, request.id));
  }
}
