/**
 * Servers that split, garble, hang up or fall silent: the client answers for each execution, and
 * never hangs.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { realClock } from "../../../../ground/kernel/node/real-clock.ts";
import { eventually } from "../../../../ground/kernel/testing/eventually.ts";
import type { Target, TargetConnection } from "../../core/target.ts";
import { execute, operationOf } from "../testing/operations.ts";
import { MalformedStream, MessageScanner } from "./message-scanner.ts";
import { createPostgresTarget } from "./postgres-target.ts";
import { createScramClient } from "./scram.ts";
import {
  bindComplete,
  commandComplete,
  concat,
  dataRow,
  errorResponse,
  int32,
  message,
  ready,
  ScriptedServer,
} from "./testing/scripted-server.ts";

const { signal } = new AbortController();
const one = operationOf("CUSTOM", "SELECT 1", {});

async function withServer(
  pieceBytes: number,
  body: (server: ScriptedServer, target: Target) => Promise<void>,
): Promise<void> {
  const server = await ScriptedServer.start(pieceBytes);
  const target = createPostgresTarget(server.url, realClock);
  try {
    await body(server, target);
  } finally {
    await target.close();
    await server.stop();
  }
}

const answers = concat(
  message("S", Buffer.from("TimeZone\0UTC\0")),
  bindComplete,
  dataRow(10),
  message("N", Buffer.from("SNOTICE\0Mhm\0\0")),
  dataRow(70_000),
  commandComplete("SELECT 2"),
  ready(),
  bindComplete,
  errorResponse("23505", "no"),
  ready(),
  bindComplete,
  commandComplete("INSERT 0 1234"),
  ready(),
);

test("[PG11] messages are found however they are split", () => {
  const found = (sizes: readonly number[]): string[] => {
    const seen: string[] = [];
    const scanner = new MessageScanner(
      (type, bytes, start, end) =>
        seen.push(`${String.fromCharCode(type)} ${bytes.toString("latin1", start, end)}`),
      { keepsRows: false },
    );
    let at = 0;
    for (let piece = 0; at < answers.length; piece += 1) {
      const size = sizes[piece % sizes.length] ?? 1;
      // In memory that is used again, as the socket does it.
      const bytes = Buffer.from(answers.slice(at, at + size));
      scanner.push(bytes, bytes.length);
      bytes.fill(0xff);
      at += size;
    }
    return seen;
  };
  const whole = found([answers.length]);
  assert.equal(whole.length, 11);
  for (let size = 1; size < 200; size += 1) assert.deepEqual(found([size]), whole, `${size}`);
  for (let cut = 1; cut < answers.length; cut += cut < 300 ? 1 : 997) {
    assert.deepEqual(found([cut, answers.length]), whole, `cut at ${cut}`);
  }
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1 }), (sizes) => {
      assert.deepEqual(found(sizes), whole);
    }),
  );
});

test("[PG12] bytes that are no message end the scan, and never more than that", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 60 }), { maxLength: 30 }),
      (pieces) => {
        const scanner = new MessageScanner(() => undefined, { keepsRows: true });
        try {
          for (const piece of pieces) scanner.push(Buffer.from(piece), piece.length);
        } catch (error) {
          assert.ok(error instanceof MalformedStream);
        }
      },
    ),
  );
});

for (const pieceBytes of [1, 2, 3, 7, 64 * 1024]) {
  test(`[PG11] answers in pieces of ${pieceBytes} bytes are the same answers`, async () => {
    await withServer(pieceBytes, async (server, target) => {
      const replies = [
        concat(bindComplete, dataRow(3), dataRow(300), commandComplete("SELECT 2"), ready()),
        concat(bindComplete, errorResponse("40001", "try again"), ready()),
        concat(bindComplete, commandComplete("UPDATE 17"), ready()),
        concat(bindComplete, message("I"), ready()),
      ];
      server.answerWith((_, execution) => replies[(execution - 1) % replies.length]);
      for (const depth of [1, 3]) {
        const connection = await target.connect(depth, signal);
        const prepared = await connection.prepare(one);
        const outcomes = await Promise.all(Array.from({ length: 8 }, () => execute(prepared, [])));
        const once = [
          { failure: undefined, rowCount: 2 },
          { failure: { kind: "serialization", code: "40001", message: "try again" }, rowCount: 0 },
          { failure: undefined, rowCount: 17 },
          { failure: undefined, rowCount: 0 },
        ];
        assert.deepEqual(outcomes, [...once, ...once]);
      }
    });
  });
}

/** Three in flight; the first answer is as given. */
async function inFlightWith(
  server: ScriptedServer,
  target: Target,
  answer: Parameters<ScriptedServer["answerWith"]>[0],
): Promise<{ heard: string[]; connection: TargetConnection }> {
  const connection = await target.connect(3, signal);
  const prepared = await connection.prepare(one);
  server.answerWith(answer);
  const heard: string[] = [];
  connection.onBroken((failure) => heard.push(`broken ${failure.kind} ${failure.code}`));
  for (let count = 0; count < 3; count += 1) {
    prepared.execute([], (failure) => heard.push(`${failure?.kind}`));
  }
  return { heard, connection };
}

const answer = concat(bindComplete, commandComplete("SELECT 1"), ready());

const ends: readonly (readonly [string, Parameters<ScriptedServer["answerWith"]>[0], string])[] = [
  ["hangs up", (socket) => void socket.destroy(), "lost"],
  ["resets", (socket) => void socket.resetAndDestroy(), "lost"],
  ["closes its half", (socket) => void socket.end(), "lost"],
  ["hangs up within a message", (socket) => void socket.end(answer.slice(0, 9)), "lost"],
  ["hangs up within a row", (socket) => void socket.end(dataRow(50).slice(0, 20)), "lost"],
  ["sends zeros", () => Buffer.alloc(64), "lost"],
  ["speaks HTTP", () => Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"), "lost"],
  ["sends a negative length", () => concat(Buffer.from("C"), int32(-5), answer), "lost"],
  ["sends a length without end", () => concat(Buffer.from("E"), int32(0x7fff_ffff)), "lost"],
  ["sends what does not belong there", () => message("R", int32(0)), "lost"],
  ["answers too often", () => concat(answer, answer, answer, answer), "lost"],
  [
    "shuts down",
    (socket) => void socket.end(errorResponse("57P01", "shutting down", "FATAL")),
    "57P01",
  ],
];
for (const [what, reply, code] of ends) {
  test(`[PG12] a server that ${what} breaks the connection, once`, async () => {
    await withServer(64 * 1024, async (server, target) => {
      const { heard, connection } = await inFlightWith(server, target, (socket, execution) =>
        execution === 1 ? reply(socket, execution) : undefined,
      );
      await eventually("it is broken", () => (heard.length >= 4 ? true : undefined));
      const answered = what === "answers too often" ? "undefined" : "connection";
      assert.deepEqual(heard, [answered, answered, answered, `broken connection ${code}`]);
      assert.equal(connection.inFlight, 0);
      await assert.rejects(
        connection.prepare(operationOf("CUSTOM", "SELECT 2", {})),
        (error) => error instanceof OperatingError && error.code === "target_unreachable",
      );
    });
  });
}

test("[PG12] garbage of any kind breaks the connection or waits, and nothing else", async () => {
  await withServer(64 * 1024, async (server, target) => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (garbage) => {
        const { heard, connection } = await inFlightWith(server, target, (socket) => {
          socket.end(garbage);
          return undefined;
        });
        await eventually("it is broken", () => (heard.length >= 4 ? true : undefined));
        assert.equal(heard.length, 4);
        await connection.close();
      }),
      { numRuns: 40 },
    );
  });
});

test("[PG13] a startup that makes no sense, or never ends, fails in time", async () => {
  const greetings: readonly (readonly [Uint8Array, string])[] = [
    [Buffer.from("SSH-2.0-OpenSSH_9.2\r\n"), "target_unreachable"],
    [Buffer.alloc(50), "target_unreachable"],
    [message("R", int32(7)), "target_refused"], // GSSAPI.
    [message("R", int32(10), Buffer.from("OTHER\0\0")), "target_refused"],
    [message("R"), "target_unreachable"],
    [errorResponse("53300", "too many connections", "FATAL"), "target_refused"],
    [Buffer.alloc(0), "target_unreachable"], // Silence: connect_timeout.
  ];
  for (const [greeting, code] of greetings) {
    await withServer(1, async (server, target) => {
      server.greeting = greeting;
      await assert.rejects(
        target.connect(1, signal),
        (error) => error instanceof OperatingError && error.code === code,
      );
    });
  }
});

test("[PG1] a server that does not know the password does not get in as the server", () => {
  // The exchange of RFC 7677, with the user's name left out as Postgres wants it.
  const client = createScramClient("pencil", "rOprNGfwEbeRWgbNEkqO");
  assert.equal(client.first, "n,,n=,r=rOprNGfwEbeRWgbNEkqO");
  const salt = "W22ZaJ0SNY7soEsUEjb6gQ==";
  assert.equal(client.answer(`r=another,s=${salt},i=4096`), undefined);
  assert.equal(client.answer(`r=rOprNGfwEbeRWgbNEkqO,s=${salt},i=4096`), undefined);
  assert.equal(client.answer(`r=rOprNGfwEbeRWgbNEkqOx,s=${salt},i=0`), undefined);
  assert.equal(client.answer("nonsense"), undefined);
  assert.match(client.answer(`r=rOprNGfwEbeRWgbNEkqOx,s=${salt},i=4096`) ?? "", /^c=biws,r=/);
  assert.equal(client.accepts(`v=${Buffer.alloc(32).toString("base64")}`), false);
  assert.equal(client.accepts("e=other-error"), false);
});
