import assert from "node:assert/strict";
import { once } from "node:events";
import { appendFile, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Batch, RecordWriter } from "../../engine/core/index.ts";
import { openChecksumWriter } from "./checksum-writer.ts";
import { openFileWriter } from "./file-writer.ts";
import { openTcpWriter } from "./tcp-writer.ts";

const dir = await mkdtemp(join(tmpdir(), "capstan-writers-"));
after(() => rm(dir, { recursive: true, force: true }));

/** Writes a line for each batch: its number of rows. */
const writer: RecordWriter = {
  header: Buffer.from("n\n"),
  write: ({ rowCount }) => Buffer.from(`${rowCount}\n`),
};
const batch = (rowCount: number): Batch => ({ rowCount, columns: [], selection: undefined });

test("[SU6] a File sink cuts off what was written behind the checkpoint", async () => {
  const path = join(dir, "out.csv");
  await writeFile(path, "something else\n");
  const options = { path, append: false, writer };
  const first = await openFileWriter({ ...options, from: undefined });
  await first.write(batch(1));
  const position = first.position();
  await first.flush();
  await first.write(batch(2));
  await first.end();
  await first.close();
  assert.equal(await readFile(path, "utf8"), "n\n1\n2\n");
  const second = await openFileWriter({ ...options, from: position });
  await second.write(batch(3));
  await second.end();
  await second.close();
  assert.equal(await readFile(path, "utf8"), "n\n1\n3\n");
  await truncate(path, 1);
  await assert.rejects(
    openFileWriter({ ...options, from: position }),
    /out.csv has 1 bytes, and 4 when the checkpoint was taken/,
  );
});

test("[SU6] a File sink that appends keeps what the file has, and writes names once", async () => {
  const path = join(dir, "append.csv");
  const run = async (rowCount: number): Promise<void> => {
    const sink = await openFileWriter({ path, append: true, writer, from: undefined });
    await sink.write(batch(rowCount));
    await sink.end();
    await sink.close();
  };
  await run(1);
  await appendFile(path, "x\n");
  await run(2);
  assert.equal(await readFile(path, "utf8"), "n\n1\nx\n2\n");
  await assert.rejects(
    openFileWriter({ path: join(dir, "no", "such"), append: false, writer, from: undefined }),
    /cannot be written/,
  );
});

test("[SU7] a TCP sink sends everything before it ends", async () => {
  let received = "";
  const server = createServer((socket) => {
    socket.setEncoding("utf8").on("data", (text: string) => {
      received += text;
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const sink = await openTcpWriter({ host: "127.0.0.1", port, connectMsMax: 5_000, writer });
  for (let count = 1; count <= 1_000; count += 1) await sink.write(batch(count));
  assert.equal(sink.position(), undefined);
  await sink.end();
  await sink.close();
  const lines = received.trimEnd().split("\n");
  assert.deepEqual([lines.length, lines[0], lines.at(-1)], [1_000, "1", "1000"]);
  server.close();
  await once(server, "close");
  await assert.rejects(
    openTcpWriter({ host: "127.0.0.1", port, connectMsMax: 5_000, writer }),
    /the sink at 127.0.0.1:\d+ cannot be reached/,
  );
});

test("[SU9] a Checksum sink counts on where its checkpoint was", async () => {
  const path = join(dir, "sum.csv");
  const first = openChecksumWriter({ path, writer, from: undefined });
  await first.write(batch(1));
  const from = first.position();
  await first.write(batch(7));
  const second = openChecksumWriter({ path, writer, from });
  await second.write(batch(2));
  await second.end();
  const sum = 49 + 10 + 50 + 10;
  assert.equal(await readFile(path, "utf8"), `2,${sum}\n`);
});
