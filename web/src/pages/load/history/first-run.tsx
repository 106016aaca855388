/** For a history without runs: what a load test is, and two ways to the first one. */
import { Anchor, Button } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate } from "react-router";
import { changeRun, prepareRun } from "../../../api/load.ts";
import { Card } from "../../../components/card.tsx";
import { Command } from "../../../components/command.tsx";
import { toastFailed } from "../../../components/toasts.tsx";
import { runHref } from "../links.ts";

export function FirstRun() {
  const navigate = useNavigate();
  const starting = useMutation({
    mutationFn: async () => {
      const id = await prepareRun("demo", {});
      await changeRun(id, "start");
      return id;
    },
    onSuccess: (id) => navigate(runHref(id)),
    onError: (error) => toastFailed("Could not start the demo", error),
  });
  return (
    <Card title="No runs yet" className="first-run">
      <div className="card-body">
        <p className="dim">
          A load test runs operations against a database, measures them truthfully and says whether
          they were fast enough. The demo takes a minute and needs nothing: it reads and writes a
          SQLite file in the data directory.
        </p>
        <div className="first-run-ways">
          <Button
            leftSection={<IconPlayerPlay size={14} />}
            loading={starting.isPending}
            onClick={() => starting.mutate()}
          >
            Run the demo
          </Button>
          <span className="dim">or</span>
          <Command text="capstan load run demo --set duration=10" />
        </div>
        <p className="dim first-run-more">
          For your own database take a{" "}
          <Anchor component={Link} to="/load/templates" size="sm">
            template
          </Anchor>{" "}
          and give it a target.
        </p>
      </div>
    </Card>
  );
}
