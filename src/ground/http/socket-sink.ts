/** A WebSocket as a writable stream: each write is one message. */
import { Writable } from "node:stream";
import { bodyOf, type Problem } from "./problem.ts";
import { textOf } from "./sse-channel.ts";

/** The part of a WebSocket that is used here. */
export interface EventSocket {
  readonly readyState: number;
  send(text: string, sent?: (error?: Error) => void): void;
  close(code: number, reason: string): void;
  terminate(): void;
  on(event: "close" | "error", listener: () => void): unknown;
}

const isOpen = 1;
const goingAway = 1001;
const policyViolation = 1008;

/**
 * Ending the stream closes the WebSocket once everything is sent; destroying it terminates the
 * WebSocket. The stream is destroyed when the WebSocket closes.
 */
export function socketSink(socket: EventSocket): Writable {
  const sink = new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, sent) => socket.send(text, (error) => sent(error ?? null)),
    final: (done) => {
      socket.close(goingAway, "ended");
      done();
    },
    destroy: (error, done) => {
      if (!sink.writableFinished) socket.terminate();
      done(error);
    },
  });
  sink.on("error", () => undefined); // `close` follows, and is handled.
  socket.on("close", () => sink.destroy());
  socket.on("error", () => sink.destroy());
  if (socket.readyState !== isOpen) sink.destroy();
  return sink;
}

/** Reports why there will be no events, with the status that an HTTP request would have had. */
export function refuseSocket(socket: EventSocket, problem: Problem): void {
  const { status, code } = problem;
  const data = JSON.stringify({ ...bodyOf(problem), status });
  socket.send(textOf({ event: "error", data }), () => undefined);
  socket.close(policyViolation, code);
}
