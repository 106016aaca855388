/** What can be done with a query. Stopping one asks first, because it cannot be undone. */
import { Button, Group } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay, IconPlayerStop, IconTrash } from "@tabler/icons-react";
import { useState } from "react";
import type { StreamQueryDetail } from "../../../api/gen/types.ts";
import { type StreamAction, useStreamAction } from "../../../components/actions.ts";
import { ConfirmDialog, type Question } from "../../../components/confirm-dialog.tsx";
import { nameOf } from "../query-list.ts";

type Stop = Extract<StreamAction, "drop soft" | "drop hard">;

export function QueryActions({ query }: { readonly query: StreamQueryDetail }) {
  const mutation = useStreamAction();
  const [asked, setAsked] = useState<Stop>();
  const target = { queryId: query.query_id, name: nameOf(query) };
  const pending = mutation.isPending ? mutation.variables.action : undefined;
  const { canPause, canResume, canStopSoftly, canStop } = allowed(query);
  return (
    <Group gap="xs" className="detail-actions">
      {canResume && (
        <Button
          leftSection={<IconPlayerPlay size={14} />}
          loading={pending === "resume"}
          onClick={() => mutation.mutate({ ...target, action: "resume" })}
        >
          Resume
        </Button>
      )}
      {canPause && (
        <Button
          variant="default"
          leftSection={<IconPlayerPause size={14} />}
          loading={pending === "pause"}
          onClick={() => mutation.mutate({ ...target, action: "pause" })}
        >
          Pause
        </Button>
      )}
      {canStopSoftly && (
        <Button
          variant="default"
          leftSection={<IconPlayerStop size={14} />}
          onClick={() => setAsked("drop soft")}
        >
          Stop softly…
        </Button>
      )}
      {canStop && (
        <Button
          variant="default"
          leftSection={<IconTrash size={14} />}
          onClick={() => setAsked("drop hard")}
        >
          {canStopSoftly ? "Stop at once…" : "Drop…"}
        </Button>
      )}
      <ConfirmDialog
        question={asked && questionOf(asked, query)}
        isPending={mutation.isPending}
        onConfirm={() => {
          if (asked === undefined) return;
          mutation.mutate({ ...target, action: asked }, { onSettled: () => setAsked(undefined) });
        }}
        onClose={() => setAsked(undefined)}
      />
    </Group>
  );
}

function allowed({ state, desired_state, stop_mode, is_preview }: StreamQueryDetail) {
  const isStopping = desired_state === "STOPPED";
  const isOver = state === "FAILED" || state === "TERMINATED";
  const isLive = !isStopping && !isOver && state !== "TERMINATING";
  return {
    canPause: isLive && !is_preview && desired_state === "RUNNING",
    canResume: isLive && desired_state === "PAUSED",
    canStopSoftly: isLive && state === "RUNNING",
    canStop: !isStopping || stop_mode === "SOFT",
  };
}

function questionOf(stop: Stop, query: StreamQueryDetail): Question {
  const name = nameOf(query);
  if (stop === "drop soft") {
    return {
      title: `Stop ${name} softly`,
      consequence:
        "Its sources read no more, what was read reaches the sinks, and then the query is dropped. " +
        "What takes longer than a minute is cut off. Sources and sinks stay.",
      verb: "Stop softly",
      destroys: true,
      keep: "Let it run",
    };
  }
  const holdsNothing = query.state === "FAILED" || query.state === "TERMINATED";
  return {
    title: holdsNothing ? `Drop ${name}` : `Stop ${name} at once`,
    consequence: holdsNothing
      ? "Its row, checkpoints and history are deleted, and its name is free again. Sources and sinks stay."
      : "Its fragments are stopped as they are: what was read and has not reached a sink is lost, " +
        "and its checkpoints are deleted with it. Sources and sinks stay.",
    verb: holdsNothing ? "Drop" : "Stop at once",
    destroys: true,
    keep: holdsNothing ? "Keep it" : "Let it run",
  };
}
