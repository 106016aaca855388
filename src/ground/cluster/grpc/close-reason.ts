/** Explains why a stream ended, from whatever Node and Connect threw. */
import { Code, ConnectError } from "@connectrpc/connect";

const socketReasons: Readonly<Record<string, string>> = {
  EAI_AGAIN: "host name not found",
  ECONNREFUSED: "connection refused",
  EHOSTUNREACH: "host unreachable",
  ENETUNREACH: "host unreachable",
  ENOTFOUND: "host name not found",
  ETIMEDOUT: "connection timed out",
};

export const connectionLost = "connection lost";
export const tokenRefused = "the cluster token was refused";

export function closeReasonOf(error: unknown): string {
  const codes = codesOf(error);
  for (const code of codes) {
    const reason = socketReasons[code];
    if (reason !== undefined) return reason;
  }
  const tlsCode = codes.find((code) => /SSL|TLS|CERT|SIGNED|VERIFY/.test(code));
  if (tlsCode !== undefined) return `TLS failed: ${tlsCode}`;
  // Reset, premature close, destroyed stream: all the same.
  if (codes.length > 0) return connectionLost;
  const { code, rawMessage } = ConnectError.from(error);
  switch (code) {
    case Code.Unauthenticated:
      return tokenRefused;
    case Code.Unavailable:
      return rawMessage; // The other side's own words.
    case Code.Canceled:
    case Code.Aborted:
      return connectionLost;
    case Code.InvalidArgument:
    case Code.ResourceExhausted:
      return `protocol violation: ${rawMessage}`;
    default:
      // Connect has no own code for bytes that are not a message.
      return rawMessage.startsWith("parse ")
        ? `protocol violation: ${rawMessage}`
        : `${connectionLost}: ${rawMessage}`;
  }
}

/** The `code` of the error and of its causes, where Node set one. */
function codesOf(error: unknown): readonly string[] {
  const codes: string[] = [];
  for (let at = error; at instanceof Error && codes.length < 8; at = at.cause) {
    if ("code" in at && typeof at.code === "string") codes.push(at.code);
  }
  return codes;
}
