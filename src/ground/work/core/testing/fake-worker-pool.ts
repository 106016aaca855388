/** Sessions that a test opens, closes and sends frames through. */
import { assert } from "../../../kernel/errors.ts";
import { type Incarnation, parseWorkerId, type WorkerId } from "../../../kernel/ids.ts";
import { keyOf, type WorkCommand, type WorkReport } from "../assignment/index.ts";
import type { WorkPool, WorkPoolEvent } from "../ports.ts";
import { testArtifact } from "./test-works.ts";

export interface SentCommand {
  readonly workerId: WorkerId;
  readonly command: WorkCommand;
}

type Assignment = Extract<WorkCommand, { kind: "assignWork" }>;

export class FakeWorkerPool implements WorkPool {
  readonly sent: SentCommand[] = [];
  readonly #up = new Set<WorkerId>();
  #listener: ((event: WorkPoolEvent) => void) | undefined;

  listen(listener: (event: WorkPoolEvent) => void): () => void {
    this.#listener = listener;
    return () => {
      this.#listener = undefined;
    };
  }

  send(workerId: WorkerId, command: WorkCommand): boolean {
    if (!this.#up.has(workerId)) return false;
    this.sent.push({ workerId, command });
    return true;
  }

  up(name: string, incarnation = "i-1"): WorkerId {
    const workerId = parseWorkerId(name);
    assert(workerId !== undefined, "a worker's name");
    this.#up.add(workerId);
    this.#listener?.({
      kind: "workerUp",
      workerId,
      incarnation: incarnation as Incarnation,
      admission: { accepting: true, draining: false },
    });
    return workerId;
  }

  down(workerId: WorkerId): void {
    this.#up.delete(workerId);
    this.#listener?.({ kind: "workerDown", workerId });
  }

  admission(workerId: WorkerId, accepting: boolean, draining: boolean): void {
    this.#listener?.({ kind: "workerAdmission", workerId, admission: { accepting, draining } });
  }

  report(workerId: WorkerId, report: WorkReport): void {
    this.#listener?.({ kind: "report", workerId, report });
  }

  /** The newest assignment. */
  lastAssigned(): { readonly workerId: WorkerId; readonly command: Assignment } {
    const last = this.sent.findLast(({ command }) => command.kind === "assignWork");
    assert(last?.command.kind === "assignWork", "work was assigned");
    return { workerId: last.workerId, command: last.command };
  }

  /** The worker of the newest assignment accepts it. */
  accept(): void {
    const { workerId, command } = this.lastAssigned();
    const { work, attempt } = command;
    this.report(workerId, { kind: "workAccepted", key: keyOf(work), attempt });
  }

  /** The worker accepts, and has the artifact. */
  ready(): void {
    this.accept();
    const { workerId, command } = this.lastAssigned();
    const { work, attempt } = command;
    const artifact = testArtifact(work.workId);
    this.report(workerId, { kind: "workReady", key: keyOf(work), attempt, artifact });
  }

  kinds(): readonly string[] {
    return this.sent.map(({ command }) => command.kind);
  }
}
