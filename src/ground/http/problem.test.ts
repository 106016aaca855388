import assert from "node:assert/strict";
import { test } from "node:test";
import { declareErrorCodes } from "../kernel/error-codes.ts";
import { OperatingError } from "../kernel/errors.ts";
import { bodyOf, problemOf } from "./problem.ts";
import { type EventSocket, refuseSocket } from "./socket-sink.ts";

const codes = declareErrorCodes({ HttpTestNoWindow: { status: 418 } });

declare module "../kernel/error-codes.ts" {
  interface ErrorCodes extends Record<keyof typeof codes, true> {}
}

const details = { hint: "Add one.", number: 3014, position: { line: 2, column: 5 } };
const thrown = new OperatingError("HttpTestNoWindow", "never", "no window", details);
const body = { code: "HttpTestNoWindow", message: "no window", ...details };

test("[AP48] a problem has the declared status and the error's details", () => {
  const problem = problemOf(thrown, "r1");
  assert.equal(problem.status, 418);
  assert.deepEqual(bodyOf(problem), body);
  const plain = problemOf(new OperatingError("not_found", "never", "no table"), "r1");
  assert.equal(plain.status, 404);
  assert.deepEqual(bodyOf(plain), { code: "not_found", message: "no table" });
});

test("[AP48] a refused WebSocket is told the same", () => {
  const sent: string[] = [];
  const socket: EventSocket = {
    readyState: 1,
    send: (text) => sent.push(text),
    close: (_code, reason) => sent.push(reason),
    terminate: () => undefined,
    on: () => undefined,
  };
  refuseSocket(socket, problemOf(thrown, "r1"));
  const data = /^data: (.*)$/m.exec(sent[0] ?? "")?.[1] ?? "";
  assert.deepEqual(JSON.parse(data), { ...body, status: 418 });
  assert.equal(sent[1], "HttpTestNoWindow");
});

test("[AP48] paths of the server's own files are removed", () => {
  const full = new OperatingError("disk_full", "backoff", "no room in /srv/capstan/spool");
  assert.doesNotMatch(problemOf(full, "r1").message, /srv/);
});
