/**
 * Messages to the server, apart from Bind, which `statement.ts` writes in place.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
import type { PostgresAddress } from "./parse-postgres-url.ts";

const protocolVersion = 196_608; // 3.0
const cancelRequestCode = 80_877_102;
const sslRequestCode = 80_877_103;

export const syncFrame: Buffer = frame("S");
export const terminateFrame: Buffer = frame("X");
export const sslRequestFrame: Buffer = Buffer.concat([int32(8), int32(sslRequestCode)]);

export function startupFrame(address: PostgresAddress): Buffer {
  const settings = {
    user: address.user,
    database: address.database,
    application_name: address.applicationName,
    client_encoding: "UTF8",
    ...(address.options === undefined ? {} : { options: address.options }),
  };
  const body = Buffer.concat([
    int32(protocolVersion),
    ...Object.entries(settings).flat().map(text),
    Buffer.alloc(1),
  ]);
  return Buffer.concat([int32(body.length + 4), body]);
}

/** What the server told us to show, to cancel what a connection does. */
export interface CancelKey {
  readonly processId: number;
  readonly secret: Buffer;
}

export function cancelFrame({ processId, secret }: CancelKey): Buffer {
  return Buffer.concat([
    int32(12 + secret.length),
    int32(cancelRequestCode),
    int32(processId),
    secret,
  ]);
}

export function passwordFrame(password: string): Buffer {
  return frame("p", text(password));
}

export function saslInitialFrame(mechanism: string, message: string): Buffer {
  const bytes = Buffer.from(message);
  return frame("p", text(mechanism), int32(bytes.length), bytes);
}

export function saslResponseFrame(message: string): Buffer {
  return frame("p", Buffer.from(message));
}

/** Parameters beyond `types`, and those of type 0, are for the server to infer. */
export function parseFrame(name: string, sql: string, types: readonly number[]): Buffer {
  return frame("P", text(name), text(sql), int16(types.length), ...types.map(int32));
}

export function describeStatementFrame(name: string): Buffer {
  return frame("D", Buffer.from("S"), text(name));
}

/** Of the unnamed portal, all rows. */
export const executeFrame: Buffer = frame("E", text(""), int32(0));

/** The answer to a COPY FROM STDIN, for which there is nothing to send. */
export const copyFailFrame: Buffer = frame("f", text("COPY from the client is not supported"));

function frame(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

function text(value: string): Buffer {
  return Buffer.from(`${value}\0`);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value | 0);
  return bytes;
}

function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16BE(value);
  return bytes;
}
