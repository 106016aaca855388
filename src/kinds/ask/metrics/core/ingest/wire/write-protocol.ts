/**
 * The protocol of a remote write request, and its answers, in the words of Prometheus's receiver.
 */
import type { RemoteWriteResult } from "../../ingest-service.ts";
import type { AppendOutcome } from "../../model.ts";
import type { DecodedWrite } from "./decoded-write.ts";
import type { WriteProtocol } from "./write-decoder.ts";

const mediaType = "application/x-protobuf";
const messages: ReadonlyMap<string, WriteProtocol> = new Map([
  ["prometheus.WriteRequest", "1"],
  ["io.prometheus.write.v2.Request", "2"],
]);

/** Returns a result when the request must be refused with it. */
export function parseWriteProtocol(
  contentType: string,
  contentEncoding: string,
): WriteProtocol | RemoteWriteResult {
  const whole = contentType.trim() === "" ? mediaType : contentType.trim();
  const [media = "", ...parameters] = whole.split(";").map((part) => part.trim());
  if (media.toLowerCase() !== mediaType) {
    return unsupported(
      `expected ${mediaType} as the first (media) part, got ${whole} content-type`,
    );
  }
  const encoding = contentEncoding.trim().toLowerCase();
  if (encoding !== "" && encoding !== "snappy") {
    return unsupported(
      `${contentEncoding} encoding (compression) is not accepted by this server; only snappy is acceptable`,
    );
  }
  const message = parameters.find((parameter) => parameter.startsWith("proto="))?.slice(6);
  if (message === undefined) return "1";
  const known = messages.get(message);
  if (known !== undefined) return known;
  return unsupported(
    `got ${whole} content type; unknown type for remote write protobuf message ${message}, ` +
      `supported: ${[...messages.keys()].join(", ")}`,
  );
}

/** The answer to a write of which nothing was taken. */
export function refusedWrite(status: number, message: string): RemoteWriteResult {
  return { status, message, samples: 0, histograms: 0, exemplars: 0 };
}

/** Duplicates count as written: the sender must not repeat them. */
export function writeResultOf(decoded: DecodedWrite, outcome: AppendOutcome): RemoteWriteResult {
  const refusedCount = outcome.conflicts + outcome.tooOld + outcome.tooNew;
  const problems = [...decoded.problems];
  if (refusedCount > 0) {
    const more = refusedCount > 1 ? ` (${refusedCount} samples were refused)` : "";
    problems.push(`${outcome.firstProblem ?? "samples were refused"}${more}`);
  }
  const hidden = decoded.problemCount - decoded.problems.length;
  if (hidden > 0) problems.push(`and ${hidden} more`);
  return {
    status: problems.length === 0 ? 204 : 400,
    message: problems.length === 0 ? undefined : problems.join("\n"),
    samples: outcome.appended + outcome.duplicates,
    histograms: outcome.histogramsAppended,
    exemplars: outcome.exemplarsAppended,
  };
}

function unsupported(message: string): RemoteWriteResult {
  return refusedWrite(415, message);
}
