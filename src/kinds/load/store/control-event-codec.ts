/**
 * Control events and workers' targets as they are stored: JSON with the names and the order of
 * fields that every version writes. A STOP of an earlier version has no `effective_at`.
 */

import { isoTime } from "../../../ground/kernel/iso-time.ts";
import type { ControlEvent, EventScope, Targets, WorkerTarget } from "../core/control-events.ts";
import type { LoadWorkerId } from "../core/ids.ts";
import type { RunPhase, StopReason } from "../core/run-state.ts";

export interface EventRow {
  readonly event_type: string;
  readonly event_data: string;
}

interface TargetData {
  readonly target_connections: number;
  readonly target_qps: number | null;
  readonly step_id: string | null;
  readonly step_number: number | null;
}

interface ScopeData {
  readonly scope: EventScope["scope"];
  readonly worker_id: string;
  readonly worker_group_id: number;
}

/** Each type of event has some of these. */
interface EventData extends ScopeData, TargetData {
  readonly expected_workers: number;
  readonly reason: string;
  readonly initiated_by: string;
  readonly drain_timeout_seconds: number;
  readonly effective_at?: string | null;
  readonly phase: RunPhase;
  readonly ramp_seconds: number;
}

export function encodeEvent(event: ControlEvent): EventRow {
  const data = { ...encodeScope(event.to), ...encodeData(event) };
  return { event_type: event.type, event_data: JSON.stringify(data) };
}

export function decodeEvent({ event_type: type, event_data: text }: EventRow): ControlEvent {
  const data = JSON.parse(text) as EventData;
  const to = decodeScope(data);
  const at = data.effective_at ?? null;
  const atMs = at === null ? null : Date.parse(at);
  switch (type as ControlEvent["type"]) {
    case "START":
      return { type: "START", to, expectedWorkers: data.expected_workers };
    case "STOP": {
      const { reason, initiated_by: initiatedBy, drain_timeout_seconds: seconds } = data;
      const drainMs = seconds * 1000;
      return { type: "STOP", to, reason: reason as StopReason, initiatedBy, drainMs, atMs };
    }
    case "SET_PHASE":
      return { type: "SET_PHASE", to, phase: data.phase, atMs };
    case "SET_WORKER_TARGET": {
      const { ramp_seconds: rampSeconds, reason } = data;
      const target = decodeTarget(data);
      return { type: "SET_WORKER_TARGET", to, target, rampSeconds, reason, atMs };
    }
  }
}

export function encodeTargets(targets: Targets): string {
  const entries = Object.entries(targets).map(([id, target]) => [id, encodeTarget(target)]);
  return JSON.stringify(Object.fromEntries(entries));
}

export function decodeTargets(text: string): Targets {
  const stored = Object.entries(JSON.parse(text) as Record<string, TargetData>);
  return Object.fromEntries(stored.map(([id, target]) => [id, decodeTarget(target)]));
}

function encodeData(event: ControlEvent): Partial<EventData> {
  switch (event.type) {
    case "START":
      return { expected_workers: event.expectedWorkers };
    case "STOP":
      return {
        reason: event.reason,
        initiated_by: event.initiatedBy,
        drain_timeout_seconds: event.drainMs / 1000,
        ...(event.atMs === null ? {} : { effective_at: isoTime(event.atMs) }),
      };
    case "SET_PHASE":
      return { phase: event.phase, effective_at: momentOf(event.atMs) };
    case "SET_WORKER_TARGET":
      return {
        ...encodeTarget(event.target),
        effective_at: momentOf(event.atMs),
        ramp_seconds: event.rampSeconds,
        reason: event.reason,
      };
  }
}

function momentOf(atMs: number | null): string | null {
  return atMs === null ? null : isoTime(atMs);
}

function encodeScope(to: EventScope): Partial<ScopeData> {
  switch (to.scope) {
    case "RUN":
      return { scope: to.scope };
    case "WORKER_GROUP":
      return { scope: to.scope, worker_group_id: to.groupId };
    case "WORKER": {
      const group = to.groupId === undefined ? {} : { worker_group_id: to.groupId };
      return { scope: to.scope, worker_id: to.workerId, ...group };
    }
  }
}

function decodeScope({
  scope,
  worker_id: workerId,
  worker_group_id: groupId,
}: ScopeData): EventScope {
  switch (scope) {
    case "RUN":
      return { scope };
    case "WORKER_GROUP":
      return { scope, groupId };
    case "WORKER":
      return { scope, workerId: workerId as LoadWorkerId, groupId };
  }
}

function encodeTarget({ connections, qps, stepId, stepNumber }: WorkerTarget): TargetData {
  return {
    target_connections: connections,
    target_qps: qps,
    step_id: stepId,
    step_number: stepNumber,
  };
}

function decodeTarget(data: TargetData): WorkerTarget {
  return {
    connections: data.target_connections,
    qps: data.target_qps,
    stepId: data.step_id,
    stepNumber: data.step_number,
  };
}
