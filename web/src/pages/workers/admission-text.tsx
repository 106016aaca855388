/** Whether a worker takes work; the tooltip says who decided against it. */
import type { Worker } from "../../api/gen/types.ts";
import { admissionOf } from "../../api/worker-condition.ts";

export function AdmissionText({ worker }: { readonly worker: Worker }) {
  switch (admissionOf(worker)) {
    case "accepting":
      return "Accepting";
    case "full":
      return <span title="All its slots and its queue are taken.">Full</span>;
    case "draining":
      return (
        <span title={worker.drain_requested ? "An operator asked for it." : "It is shutting down."}>
          Draining
        </span>
      );
    case "none":
      return <span className="dim">None</span>;
  }
}
