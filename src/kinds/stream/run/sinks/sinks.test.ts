import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Batch, RecordWriter } from "../../engine/core/index.ts";
import { openChecksumWriter } from "./checksum-writer.ts";
import { openFileWriter } from "./file-writer.ts";
import { openTcpWriter } from "./tcp-writer.ts";

const dir = await mkdtemp(join(tmpdir(), "capstan-sinks-"));
after(() => rm(dir, { recursive: true, force: true }));

/** A writer that writes the first column, a number on each line. */
const writer: RecordWriter = {
  header: new Uint8Array(0),
  write: ({ columns: [column], rowCount }) => {
    const values =
      column?.kind === "fixed" ? Array.from(column.values, Number).slice(0, rowCount) : [];
    return new TextEncoder().encode(values.map((value) => `${value}\n`).join(""));
  },
};

function rows(...values: number[]): Batch {
  return {
    rowCount: values.length,
    columns: [
      { kind: "fixed", type: "INT32", values: Int32Array.from(values), validity: undefined },
    ],
    selection: undefined,
  };
}

test("[SU6] a file goes on where its checkpoint was taken", async () => {
  const path = join(dir, "out.csv");
  await writeFile(path, "old\n");
  const first = await openFileWriter({ path, append: false, writer, from: undefined });
  await first.write(rows(1, 2));
  const from = first.position();
  await first.flush();
  await first.write(rows(3));
  await first.flush();
  await first.close();
  assert.equal(await readFile(path, "utf8"), "1\n2\n3\n");
  const second = await openFileWriter({ path, append: false, writer, from });
  await second.write(rows(4));
  await second.end();
  await second.close();
  assert.equal(await readFile(path, "utf8"), "1\n2\n4\n");
  await truncate(path, 1);
  await assert.rejects(
    openFileWriter({ path, append: false, writer, from }),
    /has 1 bytes, and 4 when the checkpoint was taken/,
  );
});

test("[SU6] with APPEND records go behind what is there", async () => {
  const path = join(dir, "append.csv");
  await writeFile(path, "old\n");
  const sink = await openFileWriter({ path, append: true, writer, from: undefined });
  await sink.write(rows(1));
  await sink.end();
  await sink.close();
  assert.equal(await readFile(path, "utf8"), "old\n1\n");
});

test("[SU6] a file that cannot be written is an error with its name", async () => {
  const path = join(dir, "absent", "out.csv");
  await assert.rejects(
    openFileWriter({ path, append: false, writer, from: undefined }),
    /absent\/out.csv cannot be written/,
  );
});

test("[SU9] a checksum goes on across a restart and is written at the end", async () => {
  const path = join(dir, "sum");
  const first = openChecksumWriter({ path, writer, from: undefined });
  await first.write(rows(1, 2));
  const from = first.position();
  await first.write(rows(9));
  const second = openChecksumWriter({ path, writer, from });
  await second.write(rows(3));
  await second.end();
  const sum = [..."1\n2\n3\n"].reduce((total, character) => total + character.charCodeAt(0), 0);
  assert.equal(await readFile(path, "utf8"), `3,${sum}\n`);
});

test("[SU7] a TCP sink sends every record, and says who refused it", async () => {
  const received: Buffer[] = [];
  const server = createServer((socket) => socket.on("data", (chunk) => received.push(chunk)));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const sink = await openTcpWriter({ host: "127.0.0.1", port, connectMsMax: 5_000, writer });
  await sink.write(rows(1, 2));
  await sink.write(rows(3));
  await sink.end();
  await sink.close();
  assert.equal(Buffer.concat(received).toString(), "1\n2\n3\n");
  server.close();
  await once(server, "close");
  await assert.rejects(
    openTcpWriter({ host: "127.0.0.1", port, connectMsMax: 5_000, writer }),
    new RegExp(`the sink at 127.0.0.1:${port} cannot be reached`),
  );
});
