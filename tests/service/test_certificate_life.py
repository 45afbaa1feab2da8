"""The life of a certificate in a running service, over months, as its owner and the public see it."""

from installation import until


def test_ERS_4_2_a_evaluations_renew_suspend_and_restore_a_certificate(installation):
    with installation.service.tenant("Renewal", "CRITICAL") as client:
        certificate = installation.certificate(client, "m", 1)

        def state():
            return client.get(f"/v1/certificates/{certificate}/status").json()

        first = state()
        assert (first["status"], first["reason"]) == ("VALID", None)
        number = first["next_evaluation"]
        assert client.get(f"/v1/certificates/{certificate}/calendar.ics").text.count(number.replace("-", "")) == 1

        installation.day(25)
        assert installation.evaluate(client, "m", 2)["compliance"]["level"] == "L3"
        until(lambda: state()["next_evaluation"] > number)
        second = state()["next_evaluation"]
        few = installation.evaluate(client, "m", 3, rows=100, over=0.5)  # says nothing about the system
        assert few["compliance"] == {"level": "NONE", "status": "INSUFFICIENT_DATA", "next_evaluation": None}

        installation.day(45)  # a month and two weeks after its issue
        until(lambda: installation.verdict(client, certificate) == "VALID")
        found = installation.evaluate(client, "m", 4, over=0.3)
        assert found["compliance"]["status"] in ("FAIL", "PASS") and found["compliance"]["level"] != "L3"
        until(lambda: state()["status"] == "SUSPENDED")
        assert f"{found['compliance']['level']}; the certificate states L3" in state()["reason"]
        line = client.get("/v1/registry").json()["items"][0]
        assert (line["status"], line["next_evaluation"]) == ("SUSPENDED", second) and line["reason"] == state()[
            "reason"
        ]
        verified = client.get(f"/v1/certificates/{certificate}/verify").json()
        assert verified["verdict"] == "SUSPENDED" and verified["standing"]["reason"] == state()["reason"]

        installation.day(50)
        installation.evaluate(client, "m", 5)
        until(lambda: state()["status"] == "VALID")
        installation.day(50 + 40)
        until(lambda: state()["status"] == "SUSPENDED")
        assert "is overdue" in state()["reason"]
        installation.evaluate(client, "m", 6)
        until(lambda: state()["status"] == "VALID")
        life = client.get(f"/v1/certificates/{certificate}/life").json()["events"]
        assert [event["cause"] for event in life] == ["issued", "renewed", "missed", "renewed", "overdue", "renewed"]
        actions = [line["action"] for line in client.get("/v1/audit").json()["items"]]
        assert actions.count("certificate.renewed") == 3 and actions.count("certificate.suspended") == 2
