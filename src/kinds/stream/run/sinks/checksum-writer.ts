/**
 * Counts instead of keeping: the lines of the records and the sum of their bytes, as CSV. When the
 * query ends, both numbers are written to the file, if there is one, and told to `onEnd`.
 */
import { writeFile } from "node:fs/promises";
import { messageOf } from "../../../../ground/kernel/errors.ts";
import type { RecordWriter } from "../../engine/core/index.ts";
import { DialectError } from "../../language/core/index.ts";
import type { SinkWriter } from "../core/connector.ts";

export interface ChecksumWriterOptions {
  readonly path: string | undefined;
  readonly writer: RecordWriter;
  readonly from: string | undefined;
  readonly onEnd?: (text: string) => void;
}

const lineFeed = 10;

export function openChecksumWriter(options: ChecksumWriterOptions): SinkWriter {
  const { path, writer, from, onEnd } = options;
  let [lines = 0, sum = 0] = from === undefined ? [] : from.split(",").map(Number);
  let bytesWritten = 0;
  const ready = Promise.resolve();
  return {
    write: (batch) => {
      const bytes = writer.write(batch);
      bytesWritten += bytes.length;
      for (const byte of bytes) {
        sum += byte;
        if (byte === lineFeed) lines += 1;
      }
      return undefined;
    },
    position: () => `${lines},${sum}`,
    get bytesWritten() {
      return bytesWritten;
    },
    flush: () => ready,
    end: async () => {
      const text = `${lines},${sum}\n`;
      onEnd?.(text);
      if (path === undefined) return;
      try {
        await writeFile(path, text);
      } catch (thrown) {
        throw new DialectError(4004, `the file ${path} cannot be written: ${messageOf(thrown)}`);
      }
    },
    close: () => ready,
  };
}
