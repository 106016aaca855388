/** A thread and a process for tests: does what it is asked. */
import { OperatingError } from "../../../kernel/errors.ts";
import type { Side } from "../../core/talk.ts";
import { servePeer } from "../serve-peer.ts";

export interface ClerkOptions {
  readonly name: string;
  /** `fails`: it does not open. `stays`: it ignores the stop word. */
  readonly habit?: "fails" | "stays";
}

export interface Clerk extends Side {
  readonly requests: {
    greet(who: string): string;
    compute(): string;
    hold(): void;
    askBack(question: string): string;
    break(): void;
    exit(code: number): void;
  };
  readonly notes: { throw: string };
}

export interface Owner extends Side {
  readonly requests: { question(text: string): string };
  readonly notes: { closed: string };
}

servePeer<Clerk, ClerkOptions, Owner>(({ name, habit }, owner) => {
  if (habit === "fails") {
    throw new OperatingError("store_corrupt", "never", "it is damaged", { hint: "Repair it." });
  }
  return {
    requests: {
      greet: (who) => `${name} greets ${who}`,
      compute: (_, call) => {
        while (!call.isStopped());
        return "stopped";
      },
      hold: (_, call) =>
        new Promise((resolve) => {
          if (habit !== "stays") call.signal.addEventListener("abort", () => resolve());
        }),
      askBack: (question) => owner.ask("question", question),
      break: () => {
        owner.broken(new OperatingError("disk_full", "backoff", "no room"));
      },
      exit: (code) => process.exit(code),
    },
    notes: {
      throw: (text) => {
        throw new Error(text);
      },
    },
    stopping: async () => {
      await owner.ask("question", "may I go");
    },
    close: () => owner.tell("closed", name),
  };
});
