/**
 * Converts commands and reports to and from the frames of the channel of streams
 * (proto/stream.proto). An unknown, malformed or out-of-range value throws `protocol_violation`
 * with the field's name.
 * Rules: SD2, SD6.
 */
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { messageOf } from "../../../../ground/kernel/errors.ts";
import {
  present,
  safeInteger,
  text,
  violation,
  word,
} from "../../../../ground/kernel/wire-values.ts";
import type {
  EdgeStatistics,
  FragmentError,
  FragmentReport,
  FragmentStatistics,
  StopMode,
  StreamCommand,
  StreamReport,
} from "../core/index.ts";
import * as wire from "./gen/stream_pb.ts";
import { fragmentNameOf, queryNameOf } from "./names.ts";
import { packManifests, packSpecs, unpackManifests, unpackSpecs } from "./packed.ts";

const stopModes: Readonly<Record<StopMode, wire.StopMode>> = {
  hard: wire.StopMode.HARD,
  soft: wire.StopMode.SOFT,
  suspend: wire.StopMode.SUSPEND,
};
const fragmentStates: Readonly<Record<FragmentReport["state"], wire.FragmentState>> = {
  REGISTERED: wire.FragmentState.REGISTERED,
  RUNNING: wire.FragmentState.RUNNING,
  STOPPED: wire.FragmentState.STOPPED,
  TERMINATED: wire.FragmentState.TERMINATED,
  FAILED: wire.FragmentState.FAILED,
};

const messageLengthMax = 65_536;
const addressLengthMax = 2_048;
const sourceLengthMax = 1_024;

type Init<Desc extends DescMessage> = MessageInitShape<Desc>;

export function encodeCommand(command: StreamCommand): Uint8Array {
  const { query, epoch } = command;
  const init = { query, epoch: BigInt(epoch), command: commandCase(command) };
  return toBinary(wire.StreamCommandSchema, create(wire.StreamCommandSchema, init));
}

function commandCase(
  command: StreamCommand,
): NonNullable<Init<typeof wire.StreamCommandSchema>["command"]> {
  switch (command.kind) {
    case "register": {
      const { fragments, restore } = command;
      const value = {
        command: BigInt(command.command),
        fragments: packSpecs(fragments),
        ...(restore === undefined ? {} : { restore: packManifests(restore) }),
      };
      return { case: "register", value };
    }
    case "start":
    case "unregister":
      return { case: command.kind, value: { command: BigInt(command.command) } };
    case "stop": {
      const value = { command: BigInt(command.command), mode: stopModes[command.mode] };
      return { case: "stop", value };
    }
    case "triggerCheckpoint": {
      const { checkpoint, completed } = command;
      const value = { checkpoint: BigInt(checkpoint), completed: BigInt(completed) };
      return { case: "triggerCheckpoint", value };
    }
    case "checkpointComplete":
      return { case: "checkpointComplete", value: { checkpoint: BigInt(command.checkpoint) } };
  }
}

export function decodeCommand(payload: Uint8Array): StreamCommand {
  const message = read(wire.StreamCommandSchema, payload);
  const target = targetOf(message);
  switch (message.command.case) {
    case "register": {
      const { value } = message.command;
      const restore = value.restore && unpackManifests("restore", value.restore);
      const fragments = unpackSpecs("fragments", present("fragments", value.fragments));
      const command = safeInteger("command", value.command);
      return { kind: "register", ...target, command, fragments, restore };
    }
    case "start":
    case "unregister": {
      const command = safeInteger("command", message.command.value.command);
      return { kind: message.command.case, ...target, command };
    }
    case "stop": {
      const { value } = message.command;
      const mode = word("mode", value.mode, stopModes);
      return { kind: "stop", ...target, command: safeInteger("command", value.command), mode };
    }
    case "triggerCheckpoint": {
      const { value } = message.command;
      const checkpoint = safeInteger("checkpoint", value.checkpoint);
      const completed = safeInteger("completed", value.completed);
      return { kind: "triggerCheckpoint", ...target, checkpoint, completed };
    }
    case "checkpointComplete": {
      const checkpoint = safeInteger("checkpoint", message.command.value.checkpoint);
      return { kind: "checkpointComplete", ...target, checkpoint };
    }
    case undefined:
      throw violation("a command of an unknown kind");
  }
}

export function encodeReport(report: StreamReport): Uint8Array {
  const init = { report: reportCase(report) };
  return toBinary(wire.StreamReportSchema, create(wire.StreamReportSchema, init));
}

function reportCase(
  report: StreamReport,
): NonNullable<Init<typeof wire.StreamReportSchema>["report"]> {
  switch (report.kind) {
    case "answer": {
      const { query, error, fragments } = report;
      const value = {
        query,
        epoch: BigInt(report.epoch),
        command: BigInt(report.command),
        factsVersion: BigInt(report.factsVersion),
        fragments: fragments.map(reportInit),
        ...(error === undefined ? {} : { error: errorInit(error) }),
      };
      return { case: "answer", value };
    }
    case "states": {
      const { query, fragments } = report;
      const value = {
        query,
        epoch: BigInt(report.epoch),
        factsVersion: BigInt(report.factsVersion),
        fragments: fragments.map(reportInit),
      };
      return { case: "states", value };
    }
    case "checkpointed": {
      const { query, state, prepared } = report;
      const value = {
        query,
        epoch: BigInt(report.epoch),
        checkpoint: BigInt(report.checkpoint),
        state: packManifests([state]),
        prepared: Object.fromEntries(prepared),
      };
      return { case: "checkpointed", value };
    }
    case "statistics": {
      const queries = report.queries.map(({ query, epoch, fragments }) => ({
        ...{ query, epoch: BigInt(epoch), fragments: fragments.map(statisticsInit) },
      }));
      const peers = report.peers.map(({ address, roundTripMs, bytesPerSecond, backlogBytes }) => ({
        ...{ address, bytesPerSecond, backlogBytes: BigInt(backlogBytes) },
        ...(roundTripMs === undefined ? {} : { roundTripMs }),
      }));
      const { atMs } = report;
      const value = { queries, peers, ...(atMs === undefined ? {} : { atMs }) };
      return { case: "statistics", value };
    }
  }
}

function reportInit(report: FragmentReport): Init<typeof wire.FragmentReportSchema> {
  const { fragment, epoch, state, error } = report;
  return {
    ...{ fragment, epoch: BigInt(epoch), state: fragmentStates[state] },
    ...(error === undefined ? {} : { error: errorInit(error) }),
  };
}

function errorInit(error: FragmentError): Init<typeof wire.FragmentErrorSchema> {
  const { code, number, message, retry } = error;
  // A message may quote a whole record, which must not end the session.
  const cut = message.slice(0, messageLengthMax);
  const retryable = retry === "backoff";
  return { code, message: cut, retryable, ...(number === undefined ? {} : { number }) };
}

function statisticsInit(one: FragmentStatistics): Init<typeof wire.FragmentStatisticsSchema> {
  const { watermarkMs } = one;
  return {
    fragment: one.fragment,
    rowsIn: BigInt(one.rowsIn),
    bytesIn: BigInt(one.bytesIn),
    rowsOut: BigInt(one.rowsOut),
    rowsReceived: BigInt(one.rowsReceived),
    lateRows: BigInt(one.lateRows),
    malformed: BigInt(one.malformed),
    stateBytes: BigInt(one.stateBytes),
    ...(watermarkMs === undefined ? {} : { watermarkMs: BigInt(watermarkMs) }),
    bytesOut: BigInt(one.bytesOut),
    ...(one.busyMs === undefined ? {} : { busyMs: one.busyMs }),
    ...(one.waitedMs === undefined ? {} : { waitedMs: one.waitedMs }),
    edges: one.edges.map(edgeInit),
    ...(one.slowest === undefined ? {} : { slowest: slowestCase(one.slowest) }),
  };
}

function edgeInit(edge: EdgeStatistics): Init<typeof wire.EdgeStatisticsSchema> {
  const { exchange, to, waitedMs, watermarkMs } = edge;
  return {
    ...{ exchange, to, waitedMs },
    rows: BigInt(edge.rows),
    bytes: BigInt(edge.bytes),
    backlogBytes: BigInt(edge.backlogBytes),
    ...(watermarkMs === undefined ? {} : { watermarkMs: BigInt(watermarkMs) }),
  };
}

function slowestCase(
  slowest: NonNullable<FragmentStatistics["slowest"]>,
): NonNullable<Init<typeof wire.FragmentStatisticsSchema>["slowest"]> {
  if (slowest.kind === "source") return { case: "slowestSource", value: slowest.name };
  return { case: "slowestFragment", value: slowest.fragment };
}

export function decodeReport(payload: Uint8Array): StreamReport {
  const { report } = read(wire.StreamReportSchema, payload);
  switch (report.case) {
    case "answer": {
      const { value } = report;
      return {
        kind: "answer",
        ...targetOf(value),
        command: safeInteger("command", value.command),
        error: value.error && errorOf(value.error),
        fragments: value.fragments.map(reportOf),
        factsVersion: safeInteger("facts_version", value.factsVersion),
      };
    }
    case "states": {
      const { value } = report;
      return {
        kind: "states",
        ...targetOf(value),
        fragments: value.fragments.map(reportOf),
        factsVersion: safeInteger("facts_version", value.factsVersion),
      };
    }
    case "checkpointed": {
      const { value } = report;
      const states = unpackManifests("state", present("state", value.state));
      const prepared = Object.entries(value.prepared);
      return {
        kind: "checkpointed",
        ...targetOf(value),
        checkpoint: safeInteger("checkpoint", value.checkpoint),
        state: present("state", states[0]),
        prepared: new Map(prepared.map(([node, done]) => [Number(node), done])),
      };
    }
    case "statistics": {
      const queries = report.value.queries.map((run) => ({
        ...{ ...targetOf(run), fragments: run.fragments.map(statisticsOf) },
      }));
      const peers = report.value.peers.map((peer) => ({
        address: text("address", peer.address, addressLengthMax),
        roundTripMs: peer.roundTripMs,
        bytesPerSecond: peer.bytesPerSecond,
        backlogBytes: safeInteger("backlog_bytes", peer.backlogBytes),
      }));
      return { kind: "statistics", atMs: report.value.atMs, queries, peers };
    }
    case undefined:
      throw violation("a report of an unknown kind");
  }
}

function reportOf({ fragment, epoch, state, error }: wire.FragmentReport): FragmentReport {
  return {
    fragment: fragmentNameOf("fragment", fragment),
    epoch: safeInteger("epoch", epoch),
    state: word("state", state, fragmentStates),
    error: error && errorOf(error),
  };
}

function errorOf({ code, number, message, retryable }: wire.FragmentError): FragmentError {
  return {
    code: text("code", code, 64),
    number,
    message: text("message", message, messageLengthMax),
    retry: retryable ? "backoff" : "never",
  };
}

function statisticsOf(one: wire.FragmentStatistics): FragmentStatistics {
  const { watermarkMs } = one;
  return {
    fragment: fragmentNameOf("fragment", one.fragment),
    rowsIn: safeInteger("rows_in", one.rowsIn),
    bytesIn: safeInteger("bytes_in", one.bytesIn),
    rowsOut: safeInteger("rows_out", one.rowsOut),
    rowsReceived: safeInteger("rows_received", one.rowsReceived),
    lateRows: safeInteger("late_rows", one.lateRows),
    malformed: safeInteger("malformed", one.malformed),
    stateBytes: safeInteger("state_bytes", one.stateBytes),
    watermarkMs: watermarkMs === undefined ? undefined : safeInteger("watermark_ms", watermarkMs),
    bytesOut: safeInteger("bytes_out", one.bytesOut),
    busyMs: one.busyMs,
    waitedMs: one.waitedMs,
    edges: one.edges.map(edgeOf),
    slowest: slowestOf(one.slowest),
  };
}

function edgeOf({ exchange, waitedMs, ...edge }: wire.EdgeStatistics): EdgeStatistics {
  const { watermarkMs } = edge;
  return {
    ...{ exchange, waitedMs },
    to: fragmentNameOf("to", edge.to),
    rows: safeInteger("rows", edge.rows),
    bytes: safeInteger("bytes", edge.bytes),
    backlogBytes: safeInteger("backlog_bytes", edge.backlogBytes),
    watermarkMs: watermarkMs === undefined ? undefined : safeInteger("watermark_ms", watermarkMs),
  };
}

function slowestOf({
  case: kind,
  value,
}: wire.FragmentStatistics["slowest"]): FragmentStatistics["slowest"] {
  switch (kind) {
    case "slowestSource":
      return { kind: "source", name: text("slowest_source", value, sourceLengthMax) };
    case "slowestFragment":
      return { kind: "fragment", fragment: fragmentNameOf("slowest_fragment", value) };
    case undefined:
      return undefined;
  }
}

function targetOf({ query, epoch }: { readonly query: string; readonly epoch: bigint }): {
  query: string;
  epoch: number;
} {
  return { query: queryNameOf("query", query), epoch: safeInteger("epoch", epoch) };
}

function read<Desc extends DescMessage>(schema: Desc, payload: Uint8Array): MessageShape<Desc> {
  try {
    return fromBinary(schema, payload);
  } catch (thrown) {
    throw violation(`the payload is no ${schema.name}: ${messageOf(thrown)}`);
  }
}
