package org.tarnlake.judge;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.TimeZone;

/** Entry point: the request loop. The protocol is described in package-info.java. */
public final class Main {
    private Main() {}

    public static void main(String[] requests) throws IOException {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        PrintStream replies = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err); // a library that prints must not break the protocol
        boolean ok = true;
        if (requests.length > 0) {
            for (String request : requests) {
                ok &= reply(replies, request);
            }
        } else {
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String request = in.readLine(); request != null; request = in.readLine()) {
                if (!request.isBlank()) {
                    reply(replies, request);
                }
            }
        }
        System.exit(ok ? 0 : 1); // Paimon leaves threads behind
    }

    private static boolean reply(PrintStream out, String request) throws IOException {
        ObjectNode reply = Requests.answer(request);
        out.write(Json.bytes(reply));
        out.write('\n');
        out.flush();
        return reply.get("ok").asBoolean();
    }
}
