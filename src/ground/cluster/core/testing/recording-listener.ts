/** Fakes that write down what they were told, one line a call. */

import type { WorkHandler } from "../work-handler.ts";
import type { WorkerListener } from "../worker-pool.ts";

export class RecordingListener implements WorkerListener {
  readonly lines: string[] = [];

  workerUp(up: Parameters<WorkerListener["workerUp"]>[0]): void {
    this.lines.push(`up ${up.workerId} ${up.incarnation}`);
  }
  workerAdmission(...[id, admission]: Parameters<WorkerListener["workerAdmission"]>): void {
    const { accepting, draining } = admission;
    this.lines.push(`admission ${id} accepting=${accepting} draining=${draining}`);
  }
  workerReport(...[id, report]: Parameters<WorkerListener["workerReport"]>): void {
    this.lines.push(`report ${id} ${report.kind} ${report.key.workId}/${report.attempt}`);
  }
  workerFacts(...[id, facts]: Parameters<WorkerListener["workerFacts"]>): void {
    this.lines.push(`facts ${id} ${JSON.stringify(facts)}`);
  }
  workerDown(...[id, reason]: Parameters<WorkerListener["workerDown"]>): void {
    this.lines.push(`down ${id} ${reason}`);
  }

  /** What was told since the last call. */
  take(): string[] {
    return this.lines.splice(0);
  }
}

export class RecordingHandler implements WorkHandler {
  readonly lines: string[] = [];

  assign(...[session, work, attempt]: Parameters<WorkHandler["assign"]>): void {
    this.lines.push(`assign ${session} ${work.workId}/${attempt}`);
  }
  cancel(...[session, key, attempt]: Parameters<WorkHandler["cancel"]>): void {
    this.lines.push(`cancel ${session} ${key.workId}/${attempt}`);
  }
  ackArtifact(...[session, key, attempt]: Parameters<WorkHandler["ackArtifact"]>): void {
    this.lines.push(`ack ${session} ${key.workId}/${attempt}`);
  }
  sessionLost(session: string): void {
    this.lines.push(`lost ${session}`);
  }

  take(): string[] {
    return this.lines.splice(0);
  }
}
