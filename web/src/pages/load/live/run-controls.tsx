/** Start, stop, cancel. Stopping asks first. */
import { Button, Group } from "@mantine/core";
import { IconPlayerPlay, IconPlayerStop } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { changeRun } from "../../../api/load.ts";
import { ConfirmDialog, type Question } from "../../../components/confirm-dialog.tsx";
import { toastFailed } from "../../../components/toasts.tsx";
import type { RunStage } from "./run-stage.ts";

interface RunControlsProps {
  readonly runId: string;
  readonly stage: RunStage;
}

export function RunControls({ runId, stage }: RunControlsProps) {
  const [isAsking, setAsking] = useState(false);
  const changing = useMutation({
    mutationFn: (change: "start" | "stop") => changeRun(runId, change),
    onError: (error, change) => toastFailed(`Could not ${change} the run`, error),
  });
  const isPrepared = stage === "prepared";
  const isStoppable = isPrepared || ["starting", "warming", "measuring"].includes(stage);
  // The run's own state follows a second later.
  const isStarted = changing.isSuccess && changing.variables === "start" && isPrepared;
  const stop = (): void => changing.mutate("stop", { onSettled: () => setAsking(false) });
  if (!isStoppable) return null;
  return (
    <Group gap="xs" className="load-actions">
      {isPrepared && (
        <Button
          leftSection={<IconPlayerPlay size={14} />}
          loading={isStarted || (changing.isPending && changing.variables === "start")}
          onClick={() => changing.mutate("start")}
        >
          Start
        </Button>
      )}
      <Button
        variant="default"
        leftSection={<IconPlayerStop size={14} />}
        onClick={() => setAsking(true)}
      >
        {isPrepared ? "Cancel…" : "Stop…"}
      </Button>
      <ConfirmDialog
        question={isAsking ? questionOf(isPrepared) : undefined}
        isPending={changing.isPending}
        onConfirm={stop}
        onClose={() => setAsking(false)}
      />
    </Group>
  );
}

function questionOf(isPrepared: boolean): Question {
  return isPrepared
    ? {
        title: "Cancel the run",
        consequence: "The run is not started. It stays in the list as cancelled.",
        verb: "Cancel it",
        destroys: true,
        keep: "Keep it",
      }
    : {
        title: "Stop the run",
        consequence:
          "No new operations are sent; those under way are finished. Figures measured so far are kept, and the run counts as cancelled.",
        verb: "Stop it",
        destroys: true,
        keep: "Let it run",
      };
}
