/**
 * Writes records to a file. A checkpoint knows how long the file was, and a query that goes on from
 * there cuts off what was written later: so the file holds each record once (SU6).
 */
import { type FileHandle, open } from "node:fs/promises";
import { messageOf } from "../../../../ground/kernel/errors.ts";
import { type RecordWriter, selectedCount } from "../../engine/core/index.ts";
import { DialectError } from "../../language/core/index.ts";
import type { SinkWriter } from "../core/connector.ts";
import { ByteOutlet } from "./byte-outlet.ts";

export interface FileWriterOptions {
  readonly path: string;
  /** Whether records go behind what the file has already. */
  readonly append: boolean;
  readonly writer: RecordWriter;
  readonly from: string | undefined;
}

export async function openFileWriter(options: FileWriterOptions): Promise<SinkWriter> {
  const { path, writer, from } = options;
  let file: FileHandle;
  try {
    file = await open(path, options.append || from !== undefined ? "a" : "w");
  } catch (thrown) {
    throw new DialectError(4004, `the file ${path} cannot be written: ${messageOf(thrown)}`);
  }
  let length = (await file.stat()).size;
  if (from !== undefined) {
    if (length < Number(from)) {
      await file.close();
      throw new DialectError(
        4004,
        `${path} has ${length} bytes, and ${from} when the checkpoint was taken`,
        { hint: "Put the file back, or start without the checkpoint." },
      );
    }
    await file.truncate(Number(from));
    length = Number(from);
  }
  const outlet = new ByteOutlet({
    write: async (bytes) => {
      try {
        await file.writeFile(bytes);
      } catch (thrown) {
        throw new DialectError(
          4004,
          `${path} could not be written: ${messageOf(thrown)}; ${outlet.fate}`,
        );
      }
    },
  });
  if (length === 0) await outlet.add(writer.header, 0);
  let isClosed = false;

  return {
    write: (batch) => outlet.add(writer.write(batch), selectedCount(batch)),
    position: () => `${length + outlet.addedBytes}`,
    get bytesWritten() {
      return outlet.addedBytes;
    },
    flush: async () => {
      await outlet.flush();
      try {
        await file.sync();
      } catch (thrown) {
        throw new DialectError(4004, `${path} could not be synced: ${messageOf(thrown)}`);
      }
    },
    end: () => outlet.flush(),
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      await file.close();
    },
  };
}
