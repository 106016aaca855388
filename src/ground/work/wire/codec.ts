/**
 * Converts commands and reports to and from the frames of work's channel (proto/work.proto). An
 * unknown, malformed or out-of-range value throws `protocol_violation` with the field's name.
 */
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { detailsOf, type ErrorDetails, messageOf } from "../../kernel/errors.ts";
import { parseLeafId, parseQueryId, parseWorkId } from "../../kernel/ids.ts";
import {
  httpUrl,
  parsed,
  present,
  safeInteger,
  text,
  violation,
  word,
} from "../../kernel/wire-values.ts";
import {
  type Artifact,
  answerBytesMax,
  contentBytesMax,
  keyOf,
  type RejectReason,
  type WorkCommand,
  type WorkKey,
  type WorkReport,
} from "../core/assignment/index.ts";
import * as wire from "./gen/work_pb.ts";

const rejectReasons: Readonly<Record<RejectReason, wire.RejectReason>> = {
  draining: wire.RejectReason.DRAINING,
  not_accepting: wire.RejectReason.NOT_ACCEPTING,
  queue_full: wire.RejectReason.QUEUE_FULL,
};

const messageLengthMax = 65_536;
const hintLengthMax = 4_096;
const checksumPattern = /^sha256:[0-9a-f]{64}$/;

export function encodeCommand(command: WorkCommand): Uint8Array {
  const key = keyOf(command.kind === "assignWork" ? command.work : command.key);
  const { attempt } = command;
  const init = { key, attempt, command: commandCase(command) };
  return toBinary(wire.WorkCommandSchema, create(wire.WorkCommandSchema, init));
}

type CommandCase = NonNullable<MessageInitShape<typeof wire.WorkCommandSchema>["command"]>;

function commandCase(command: WorkCommand): CommandCase {
  if (command.kind !== "assignWork") return { case: command.kind, value: {} };
  const { kind, body, affinityKey } = command.work;
  return { case: "assignWork", value: { kind, body, affinityKey } };
}

export function encodeReport(report: WorkReport): Uint8Array {
  const { key, attempt } = report;
  const init = { key: keyOf(key), attempt, report: reportCase(report) };
  return toBinary(wire.WorkReportSchema, create(wire.WorkReportSchema, init));
}

type ReportCase = NonNullable<MessageInitShape<typeof wire.WorkReportSchema>["report"]>;

function reportCase(report: WorkReport): ReportCase {
  switch (report.kind) {
    case "workAccepted":
      return { case: report.kind, value: {} };
    case "workRejected":
      return { case: report.kind, value: { reason: rejectReasons[report.reason] } };
    case "workReady":
      return { case: report.kind, value: artifactInit(report.artifact) };
    case "workAnswered":
      return { case: report.kind, value: report.answer };
    case "workFailed": {
      const { code, retryable, hint = "", number, position } = report;
      // Error messages may quote a whole query, which must not end the session.
      const value = {
        code,
        message: report.message.slice(0, messageLengthMax),
        retryable,
        hint: hint.slice(0, hintLengthMax),
        ...(isWireNumber(number) ? { number } : {}),
        ...(isWireNumber(position?.line) && isWireNumber(position?.column) ? { position } : {}),
      };
      return { case: report.kind, value };
    }
  }
}

function artifactInit(artifact: Artifact): MessageInitShape<typeof wire.ArtifactSchema> {
  const { workId, url, sizeBytes, checksum, rowCount, minTs, maxTs, schemaVersion } = artifact;
  const { content } = artifact;
  return {
    workId,
    artifactUrl: url,
    artifactSizeBytes: BigInt(sizeBytes),
    artifactChecksum: checksum,
    rowCount: BigInt(rowCount),
    ...(minTs === undefined ? {} : { minTs: BigInt(minTs) }),
    ...(maxTs === undefined ? {} : { maxTs: BigInt(maxTs) }),
    parquetSchemaVersion: schemaVersion,
    ...(content === undefined ? {} : { content }),
  };
}

export function decodeCommand(payload: Uint8Array): WorkCommand {
  const { key: raw, attempt, command } = read(wire.WorkCommandSchema, payload);
  const key = parseKey(raw);
  switch (command.case) {
    case "assignWork": {
      const { kind, body, affinityKey } = command.value;
      const work = {
        ...key,
        kind: text("kind", kind, 64),
        body, // Limited by the size of a frame.
        affinityKey: text("affinity_key", affinityKey, 1_024),
      };
      return { kind: command.case, work, attempt };
    }
    case "cancelWork":
    case "ackArtifact":
      return { kind: command.case, key, attempt };
    case undefined:
      throw violation("a command of an unknown kind");
  }
}

export function decodeReport(payload: Uint8Array): WorkReport {
  const { key: raw, attempt, report } = read(wire.WorkReportSchema, payload);
  const key = parseKey(raw);
  switch (report.case) {
    case "workAccepted":
      return { kind: report.case, key, attempt };
    case "workRejected": {
      const reason = word("reason", report.value.reason, rejectReasons);
      return { kind: report.case, key, attempt, reason };
    }
    case "workReady": {
      const artifact = parseArtifact(report.value);
      if (artifact.workId !== key.workId) throw violation("an artifact of another work item");
      return { kind: report.case, key, attempt, artifact };
    }
    case "workAnswered": {
      const { value: answer } = report;
      if (answer.length > answerBytesMax) {
        throw violation(`the answer has more than ${answerBytesMax} bytes`);
      }
      return { kind: report.case, key, attempt, answer };
    }
    case "workFailed": {
      const code = text("code", report.value.code, 64);
      const message = text("message", report.value.message, messageLengthMax);
      const { retryable } = report.value;
      const details = parseDetails(report.value);
      return { kind: report.case, key, attempt, code, message, retryable, ...details };
    }
    case undefined:
      throw violation("a report of an unknown kind");
  }
}

function read<Desc extends DescMessage>(schema: Desc, payload: Uint8Array): MessageShape<Desc> {
  try {
    return fromBinary(schema, payload);
  } catch (thrown) {
    throw violation(`the payload is no ${schema.name}: ${messageOf(thrown)}`);
  }
}

/** Absent fields are empty or 0 on the wire. */
function parseDetails({ hint, number, position }: wire.WorkFailed): ErrorDetails {
  return detailsOf({
    hint: hint === "" ? undefined : text("hint", hint, hintLengthMax),
    number: number === 0 ? undefined : number,
    position: position === undefined || position.line === 0 ? undefined : position,
  });
}

function isWireNumber(value: number | undefined): value is number {
  return value !== undefined && Number.isInteger(value) && value > 0 && value < 2 ** 32;
}

function parseKey(key: wire.WorkKey | undefined): WorkKey {
  const { queryId, leafId, workId } = present("key", key);
  return {
    queryId: parsed("query_id", queryId, parseQueryId),
    leafId: parsed("leaf_id", leafId, parseLeafId),
    workId: parsed("work_id", workId, parseWorkId),
  };
}

function parseArtifact(artifact: wire.Artifact): Artifact {
  const { minTs, maxTs, content } = artifact;
  if (content !== undefined && content.length > contentBytesMax) {
    throw violation(`content has more than ${contentBytesMax} bytes`);
  }
  if (!checksumPattern.test(artifact.artifactChecksum))
    throw violation("artifact_checksum is not a sha256");
  return {
    workId: parsed("work_id", artifact.workId, parseWorkId),
    url: httpUrl("artifact_url", artifact.artifactUrl),
    sizeBytes: safeInteger("artifact_size_bytes", artifact.artifactSizeBytes),
    checksum: artifact.artifactChecksum,
    rowCount: safeInteger("row_count", artifact.rowCount),
    minTs: minTs === undefined ? undefined : safeInteger("min_ts", minTs),
    maxTs: maxTs === undefined ? undefined : safeInteger("max_ts", maxTs),
    schemaVersion: artifact.parquetSchemaVersion,
    ...(content === undefined ? {} : { content }),
  };
}
