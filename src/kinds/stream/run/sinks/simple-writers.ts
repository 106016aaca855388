/** Sinks without a place of their own: one that shows rows, and one that forgets them. */
import type { RecordWriter } from "../../engine/core/index.ts";
import type { SinkWriter } from "../core/connector.ts";

const ready = Promise.resolve();

/** Hands each batch to `print` as text. Rows that are printed cannot be taken back. */
export function openPrintWriter(
  writer: RecordWriter,
  print: (text: string) => Promise<void> | undefined,
): SinkWriter {
  const decoder = new TextDecoder();
  let bytesWritten = 0;
  if (writer.header.length > 0) void print(decoder.decode(writer.header));
  return {
    write: (batch) => {
      const bytes = writer.write(batch);
      bytesWritten += bytes.length;
      return print(decoder.decode(bytes));
    },
    position: () => undefined,
    get bytesWritten() {
      return bytesWritten;
    },
    flush: () => ready,
    end: () => ready,
    close: () => ready,
  };
}

export function openVoidWriter(): SinkWriter {
  return {
    write: () => undefined,
    position: () => undefined,
    flush: () => ready,
    end: () => ready,
    close: () => ready,
  };
}
