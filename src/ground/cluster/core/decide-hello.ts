/** Decides whether a worker welcomes a controller, and which of its sessions that ends. Pure. */
import type { ControllerId, LeaseEpoch, SessionEpoch, WorkerId } from "../../kernel/ids.ts";
import type { ControllerFrame, ControllerRole, RefusalReason } from "./frames.ts";
import { newestCommon, protocolVersions, versionsText } from "./versions.ts";

export type Hello = Extract<ControllerFrame, { kind: "hello" }>;

/** What the worker knows when a hello arrives. */
export interface HelloContext {
  readonly workerId: WorkerId;
  readonly closing: boolean;
  /** The newest lease of all coordinators that were ever welcomed. */
  readonly newestLease: LeaseEpoch;
  /** The newest epoch of this controller's welcomed sessions; undefined when it never had one. */
  readonly newestEpoch: SessionEpoch | undefined;
}

export type HelloDecision =
  | { readonly kind: "welcome"; readonly version: number }
  | { readonly kind: "refuse"; readonly reason: RefusalReason; readonly message: string };

export function decideHello(hello: Hello, epoch: SessionEpoch, known: HelloContext): HelloDecision {
  const version = newestCommon(protocolVersions, hello.versions);
  if (version === undefined) {
    const ours = versionsText(protocolVersions);
    const message = `this worker speaks protocol ${ours}, the controller ${versionsText(hello.versions)}: run a newer Capstan on the older side`;
    return { kind: "refuse", reason: "protocol_version", message };
  }
  if (hello.workerId !== undefined && hello.workerId !== known.workerId) {
    const message = `this is worker ${known.workerId}, not ${hello.workerId}`;
    return { kind: "refuse", reason: "wrong_worker", message };
  }
  if (known.closing) {
    return { kind: "refuse", reason: "shutting_down", message: "this worker is shutting down" };
  }
  if (hello.role === "coordinator" && hello.leaseEpoch < known.newestLease) {
    const message = `a coordinator with lease ${known.newestLease} was here, yours is ${hello.leaseEpoch}`;
    return { kind: "refuse", reason: "stale_lease", message };
  }
  if (known.newestEpoch !== undefined && epoch <= known.newestEpoch) {
    const message = `session ${known.newestEpoch} of this controller was here, yours is ${epoch}`;
    return { kind: "refuse", reason: "stale_session", message };
  }
  return { kind: "welcome", version };
}

export interface OpenSession {
  readonly controllerId: ControllerId;
  readonly role: ControllerRole;
  readonly leaseEpoch: LeaseEpoch;
}

/** Why an open session ends when `hello` is welcomed; undefined when it stays open. */
export function decideSupersede(open: OpenSession, hello: Hello): RefusalReason | undefined {
  if (open.controllerId === hello.controllerId) return "stale_session";
  const bothCoordinate = open.role === "coordinator" && hello.role === "coordinator";
  return bothCoordinate && open.leaseEpoch < hello.leaseEpoch ? "stale_lease" : undefined;
}
