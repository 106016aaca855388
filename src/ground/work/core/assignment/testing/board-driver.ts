/** Drives a `WorkBoard` in a test, and shows its effects as short texts. */
import type { Admission } from "../../../../cluster/core/index.ts";
import type { ErrorCode } from "../../../../kernel/errors.ts";
import type { WorkerId } from "../../../../kernel/ids.ts";
import type { BoardEffect, BoardLimits } from "../board-messages.ts";
import { keyOf, type RejectReason, type WorkSpec } from "../messages.ts";
import { WorkBoard } from "../work-board.ts";
import { commandText, incarnation, queryId, sampleArtifact, workerId } from "./samples.ts";

export const accepting: Admission = { accepting: true, draining: false };
export const notAccepting: Admission = { accepting: false, draining: false };
export const draining: Admission = { accepting: false, draining: true };

export class BoardDriver {
  readonly board: WorkBoard;

  constructor(limits: Partial<BoardLimits> = {}) {
    this.board = new WorkBoard(limits);
  }

  up(worker: string, run = `${worker}1`, admission = accepting): string[] {
    const names = { workerId: workerId(worker), incarnation: incarnation(run) };
    return effectTexts(this.board.step({ kind: "workerUp", ...names, admission }));
  }
  down(worker: string): string[] {
    return effectTexts(this.board.step({ kind: "workerDown", workerId: workerId(worker) }));
  }
  admit(worker: string, admission: Admission): string[] {
    const event = { kind: "workerAdmission", workerId: workerId(worker), admission } as const;
    return effectTexts(this.board.step(event));
  }
  submit(query: string, ...works: readonly WorkSpec[]): string[] {
    return effectTexts(this.board.step({ kind: "submit", queryId: queryId(query), works }));
  }
  cancel(query: string, code: ErrorCode = "cancelled"): string[] {
    const message = "as asked";
    return effectTexts(this.board.step({ kind: "cancel", queryId: queryId(query), code, message }));
  }
  resync(): string[] {
    return effectTexts(this.board.step({ kind: "resync" }));
  }
  accepted(worker: string, spec: WorkSpec, attempt = 1): string[] {
    const report = { kind: "workAccepted", key: keyOf(spec), attempt } as const;
    return effectTexts(this.board.step({ kind: "report", workerId: workerId(worker), report }));
  }
  rejected(worker: string, spec: WorkSpec, attempt: number, reason: RejectReason): string[] {
    const report = { kind: "workRejected", key: keyOf(spec), attempt, reason } as const;
    return effectTexts(this.board.step({ kind: "report", workerId: workerId(worker), report }));
  }
  ready(worker: string, spec: WorkSpec, attempt = 1): string[] {
    const artifact = sampleArtifact(spec);
    const report = { kind: "workReady", key: keyOf(spec), attempt, artifact } as const;
    return effectTexts(this.board.step({ kind: "report", workerId: workerId(worker), report }));
  }
  failed(worker: string, spec: WorkSpec, attempt: number, retryable: boolean): string[] {
    const problem = { code: "bad_sql", message: "no such table", retryable };
    const report = { kind: "workFailed", key: keyOf(spec), attempt, ...problem } as const;
    return effectTexts(this.board.step({ kind: "report", workerId: workerId(worker), report }));
  }
  fetched(spec: WorkSpec, attempt = 1): string[] {
    return effectTexts(this.board.step({ kind: "fetched", key: keyOf(spec), attempt }));
  }
  fetchFailed(spec: WorkSpec, attempt = 1, code: ErrorCode = "artifact_lost"): string[] {
    const event = { kind: "fetchFailed", key: keyOf(spec), attempt, code, message: code } as const;
    return effectTexts(this.board.step(event));
  }

  /** The state of one item; undefined when its query has ended. */
  stateOf(spec: WorkSpec): string | undefined {
    return this.board.snapshot().works.find(({ key }) => key.workId === spec.workId)?.state;
  }
  holderOf(spec: WorkSpec): WorkerId | undefined {
    return this.board.snapshot().works.find(({ key }) => key.workId === spec.workId)?.workerId;
  }
}

function effectTexts(effects: readonly BoardEffect[]): string[] {
  return effects.map(effectText).filter((text) => text !== undefined);
}

function effectText(effect: BoardEffect): string | undefined {
  switch (effect.kind) {
    case "send": {
      const { command } = effect;
      const { workId } = command.kind === "assignWork" ? command.work : command.key;
      return `${effect.workerId}:${commandText(command)}(${workId})`;
    }
    case "fetch":
    case "abortFetch":
      return `${effect.kind}#${effect.attempt}(${effect.key.workId})`;
    case "workCommitted":
      return `commit#${effect.attempt}(${effect.key.workId})`;
    case "queryDone":
      return `done(${effect.queryId})`;
    case "queryFailed":
      return `failed(${effect.queryId}, ${effect.code})`;
    case "queryCancelled":
      return `cancelled(${effect.queryId}, ${effect.code})`;
    case "reassigned":
      return `moved(${effect.key.workId}, ${effect.reason})`;
    case "assigned":
    case "accepted":
      return undefined; // They repeat what a command or a report says.
  }
}
