# The lab on the software NPU, small:
#
#   docker build -f docker/cpu.Dockerfile -t hardshrink-lab-cpu .
#   docker run --rm -p 8888:8888 hardshrink-lab-cpu
FROM python:3.12-slim

WORKDIR /opt/hardshrink-lab
COPY . .
RUN pip install --no-cache-dir ".[fast]" \
    && useradd --create-home learner
USER learner
WORKDIR /home/learner
# Runs the operator once, so that what is compiled on first use is compiled in the image.
RUN labkit lab --copy-only course && LABKIT_DEVICE=sim labkit run
ENV LABKIT_DEVICE=sim
EXPOSE 8888
WORKDIR /home/learner/course
ENTRYPOINT ["jupyter", "lab", "--ip=0.0.0.0", "--port=8888", "--no-browser"]
