/** A statement as a server has it prepared, and the frames of its executions. */
import type { ParameterType, ParameterValue } from "../../core/operation.ts";
import { encodedBytesMax, encodeParameter, hasBinaryForm } from "./encode-parameter.ts";
import { executeFrame, syncFrame } from "./frames.ts";
import type { SendBuffer } from "./send-buffer.ts";

export interface StatementParameter {
  /** The index among the operation's parameters. */
  readonly index: number;
  readonly type: ParameterType;
  /** The server's type. */
  readonly oid: number;
}

/** No formats: results come as text, which nobody reads. Then Execute. */
const tail = Buffer.concat([Buffer.alloc(2), executeFrame]);

export class Statement {
  readonly #parameters: readonly StatementParameter[];
  /** Bind up to the values, its length not filled in. */
  readonly #head: Buffer;
  readonly #formatsAt: number;

  constructor(name: string, parameters: readonly StatementParameter[]) {
    this.#parameters = parameters;
    const names = Buffer.from(`B\0\0\0\0\0${name}\0`); // The unnamed portal.
    const counts = Buffer.alloc(2 + 2 * parameters.length + 2);
    counts.writeUInt16BE(parameters.length, 0);
    for (const [index, { oid }] of parameters.entries()) {
      counts.writeUInt16BE(hasBinaryForm(oid) ? 1 : 0, 2 + 2 * index);
    }
    counts.writeUInt16BE(parameters.length, 2 + 2 * parameters.length);
    this.#head = Buffer.concat([names, counts]);
    this.#formatsAt = names.length + 2;
  }

  /** Bind and Execute; Sync is the caller's. */
  writeExecution(send: SendBuffer, values: readonly ParameterValue[]): void {
    const parameters = this.#parameters;
    let bytesMax = this.#head.length + tail.length + syncFrame.length;
    for (let at = 0; at < parameters.length; at += 1) {
      bytesMax += encodedBytesMax(values[(parameters[at] as StatementParameter).index]);
    }
    send.reserve(bytesMax);
    const start = send.length;
    send.bytes.set(this.#head, start);
    send.length = start + this.#head.length;
    for (let at = 0; at < parameters.length; at += 1) {
      const { index, type, oid } = parameters[at] as StatementParameter;
      const isBinary = encodeParameter(send, oid, type, values[index]);
      if (!isBinary) send.view.setInt16(start + this.#formatsAt + 2 * at, 0);
    }
    // Its two bytes of result formats are in the tail.
    send.view.setInt32(start + 1, send.length + 2 - start - 1);
    send.bytes.set(tail, send.length);
    send.length += tail.length;
  }
}
