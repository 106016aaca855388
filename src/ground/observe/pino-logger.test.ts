import assert from "node:assert/strict";
import { test } from "node:test";
import { createPinoLogger } from "./pino-logger.ts";
import { Scrubber } from "./scrub.ts";
import { formatShortLine, parseRecord } from "./short-line.ts";

const secret = "s3cret/with+odd=chars-0123456789";

function collect(format: "json" | "short"): {
  lines: string[];
  log: ReturnType<typeof createPinoLogger>;
} {
  const lines: string[] = [];
  const scrubber = new Scrubber();
  scrubber.add(secret);
  const log = createPinoLogger({
    process: "worker-1",
    level: "info",
    format,
    colour: false,
    scrubber,
    write: (line) => lines.push(line),
  });
  return { lines, log };
}

test("[OB1] a line is JSON with its ids, its level and who said it", () => {
  const { lines, log } = collect("json");
  log.with({ query_id: "q-1" }).warn({ work_id: "w-2" }, "work moved");
  log.debug({}, "not at this level");
  assert.equal(lines.length, 1);
  const record = JSON.parse(lines[0] ?? "");
  assert.equal(record.process, "worker-1");
  assert.equal(record.query_id, "q-1");
  assert.equal(record.work_id, "w-2");
  assert.equal(record.level, 40);
  assert.equal(record.msg, "work moved");
});

test("[OB2] no line carries a secret, wherever in it the secret was", () => {
  for (const format of ["json", "short"] as const) {
    const { lines, log } = collect(format);
    log.info({ authorization: `Bearer ${secret}` }, `dialled with ${secret}`);
    log
      .with({ token: secret })
      .error({ url: `http://h/?t=${encodeURIComponent(secret)}` }, "failed");
    log.info({ header: "Authorization: Bearer abcdefgh12345678" }, "an unknown token");
    log.info({ store: "postgres://me:hunter2secret@db:5432/capstan" }, "store");
    const text = lines.join("");
    assert.equal(lines.length, 4);
    for (const leak of [secret, encodeURIComponent(secret), "abcdefgh12345678", "hunter2secret"]) {
      assert.ok(!text.includes(leak), `${format}: ${text}`);
    }
    assert.ok(text.includes("postgres://me:[redacted]@db:5432/capstan"), text);
  }
});

test("[OB3] a short line has the time, who, what and the fields, on one line", () => {
  const { lines, log } = collect("short");
  log.info({ worker_id: "worker-1", reason: "it is late" }, "unreachable");
  assert.match(
    lines[0] ?? "",
    /^\d\d:\d\d:\d\d info {2}worker-1: unreachable worker_id=worker-1 reason="it is late"\n$/,
  );
});

test("[OB3] what is not a record is left as it is", () => {
  assert.equal(parseRecord("Error: plain text"), undefined);
  assert.equal(parseRecord("{not json"), undefined);
  assert.equal(parseRecord('{"level":"high"}'), undefined);
  const record = parseRecord('{"level":50,"time":0,"msg":"m","stack":"at x"}');
  assert.ok(record !== undefined && formatShortLine(record, false).endsWith("\nat x"));
});
