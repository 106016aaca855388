/** Shown while a cluster has had no queries. */
import { Button } from "@mantine/core";
import { IconPlayerPlay, IconServer2, IconTerminal2, IconTimeline } from "@tabler/icons-react";
import type { ComponentType, ReactNode } from "react";
import { useSqlSession } from "../../api/sql-session.ts";
import { Card } from "../../components/card.tsx";
import { Command } from "../../components/command.tsx";

const firstQuery = "SELECT 42 AS answer";

export function NextSteps({ hasWorkers }: { readonly hasWorkers: boolean }) {
  const session = useSqlSession();
  return (
    <Card title="What to try next">
      <ol className="steps">
        {!hasWorkers && (
          <Step icon={IconServer2} title="Start a worker" text="It joins this cluster by itself.">
            <Command text={`npx capstan worker --join ${window.location.origin}`} />
          </Step>
        )}
        <Step
          icon={IconPlayerPlay}
          title="Run a first query"
          text="A worker computes it and writes Parquet; the coordinator checks it and streams it here."
        >
          <Button
            variant="default"
            disabled={!hasWorkers}
            onClick={() => {
              session.setDraft(firstQuery);
              void session.run(firstQuery);
            }}
          >
            Run {firstQuery}
          </Button>
        </Step>
        <Step icon={IconTerminal2} title="The same from a terminal" text="Add --json for scripts.">
          <Command text={`npx capstan sql -c "${firstQuery}"`} />
        </Step>
        <Step
          icon={IconTimeline}
          title="Watch workers come and go"
          text="Stop one, and see its work move to another."
        >
          <Command text="npx capstan watch workers" />
        </Step>
      </ol>
    </Card>
  );
}

interface StepProps {
  readonly icon: ComponentType<{ size?: number; stroke?: number; className?: string }>;
  readonly title: string;
  readonly text: string;
  readonly children: ReactNode;
}

function Step({ icon: Icon, title, text, children }: StepProps) {
  return (
    <li className="step">
      <Icon size={18} stroke={1.6} className="step-icon" />
      <div className="step-text">
        <strong>{title}</strong>
        <span className="dim">{text}</span>
      </div>
      <div className="step-do">{children}</div>
    </li>
  );
}
